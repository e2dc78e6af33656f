//! What the counters of disks are called, in the languages of Windows. Names differ between editions and between what people post, their words
//! do not: what is read, written or moved, bytes, a mean, a queue.

use aho_corasick::Anchored;
use aho_corasick::automaton::Automaton;
use aho_corasick::dfa::DFA;
use std::sync::OnceLock;
use straddle_stack::activity::Quantity;

use super::Factor;

/// What a counter is.
pub(super) fn counter(name: &str) -> Option<(Quantity, Factor)> {
    let name = name.trim().to_lowercase();
    let said = Said::in_name(&name);
    let times = |quantity| Some((quantity, Factor::Times(1.0)));
    if said.has(SHARE) {
        return said.has(IDLE).then_some(IDLE_TIME);
    }
    let direction = match (said.has(READ), said.has(WRITE)) {
        (true, true) => return None,
        (true, false) => Direction::Read,
        (false, true) => Direction::Write,
        (false, false) => Direction::Both,
    };
    let is_rate = is_per_second(&name);
    if said.has(QUEUE) {
        return times(match direction {
            Direction::Both if said.has(CURRENT) => Quantity::SampledQueueLength,
            _ if !said.has(MEAN) => return None,
            Direction::Both => Quantity::QueueLength,
            Direction::Read => Quantity::ReadQueueLength,
            Direction::Write => Quantity::WriteQueueLength,
        });
    }
    if said.has(SPLIT) {
        return (is_rate && matches!(direction, Direction::Both))
            .then_some((Quantity::SplitRate, Factor::Times(1.0)));
    }
    let of_what = match (said.has(BYTES), said.has(MEAN)) {
        // Free space is counted in these.
        (true, _) if said.has(MILLIONS) => return None,
        (true, true) if !is_rate => [
            Quantity::ReadSize,
            Quantity::WriteSize,
            Quantity::TransferSize,
        ],
        (true, false) if is_rate => [
            Quantity::ReadThroughput,
            Quantity::WriteThroughput,
            Quantity::TransferThroughput,
        ],
        // An Italian mean ends as a rate does.
        (false, true) => [
            Quantity::ReadLatency,
            Quantity::WriteLatency,
            Quantity::TransferLatency,
        ],
        (false, false) if is_rate => [
            Quantity::ReadRate,
            Quantity::WriteRate,
            Quantity::TransferRate,
        ],
        _ => return None,
    };
    match direction {
        Direction::Read => times(of_what[0]),
        Direction::Write => times(of_what[1]),
        // Bytes a second are those of both when nothing else is said.
        Direction::Both if said.has(TRANSFER) || said.has(BYTES) => times(of_what[2]),
        Direction::Both => None,
    }
}

/// What an object counts the requests of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Object {
    Physical,
    Logical,
}

/// Whether an object is the disks or the volumes.
pub(super) fn object(name: &str) -> Option<Object> {
    let name = name.to_lowercase();
    // Other programs have English objects of several words: esxtop's `Physical Disk Per-Device-Per-World`.
    match name.as_str() {
        "physicaldisk" => return Some(Object::Physical),
        "logicaldisk" | "logical disk" => return Some(Object::Logical),
        english if english.contains("physical") || english.contains("logical") => return None,
        _ => {}
    }
    let said = Said::in_name(&name);
    match (said.has(PHYSICAL), said.has(LOGICAL)) {
        _ if !said.has(DISK) => None,
        (true, false) => Some(Object::Physical),
        (false, true) => Some(Object::Logical),
        _ => None,
    }
}

enum Direction {
    Read,
    Write,
    Both,
}

/// The share of time that is given as what is left of it.
const IDLE_TIME: (Quantity, Factor) = (Quantity::Utilization, Factor::Idle);

/// What a name says, a bit for each entry of [`WORDS`].
struct Said(u16);

impl Said {
    fn in_name(name: &str) -> Self {
        static FINDER: OnceLock<Finder> = OnceLock::new();
        Said(FINDER.get_or_init(Finder::new).of(name))
    }

    fn has(&self, what: u16) -> bool {
        self.0 & what != 0
    }
}

/// Finds all [`WORDS`] in one walk: a log of a large host names a hundred thousand counters.
struct Finder {
    automaton: DFA,
    /// Of each word, the bit of its entry.
    bits: Vec<u16>,
}

impl Finder {
    fn new() -> Self {
        let of = |(bit, words): &(u16, &[&str])| vec![*bit; words.len()];
        let words = WORDS.iter().flat_map(|(_, words)| *words);
        Self {
            automaton: DFA::new(words).expect("a few words"),
            bits: WORDS.iter().flat_map(of).collect(),
        }
    }

    fn of(&self, name: &str) -> u16 {
        let Ok(mut state) = self.automaton.start_state(Anchored::No) else {
            return 0;
        };
        let mut said = 0;
        for byte in name.bytes() {
            state = self.automaton.next_state(Anchored::No, state, byte);
            if self.automaton.is_match(state) {
                for index in 0..self.automaton.match_len(state) {
                    said |= self.bits[self.automaton.match_pattern(state, index).as_usize()];
                }
            }
        }
        said
    }
}

/// A second is the unit of a rate where it stands behind everything else: `s/read` is a latency.
fn is_per_second(name: &str) -> bool {
    let name = name.trim_end_matches([')', '.', ' ']);
    let (_, unit) = name.rsplit_once(['/', '\\']).unwrap_or_default();
    let is_unit = matches!(
        unit.trim(),
        "s" | "sec" | "sek" | "seg" | "sn" | "mp" | "с" | "сек" | "秒" | "초"
    );
    is_unit || Said::in_name(name).has(A_SECOND)
}

const READ: u16 = 1;
const WRITE: u16 = 1 << 1;
const TRANSFER: u16 = 1 << 2;
const QUEUE: u16 = 1 << 3;
const CURRENT: u16 = 1 << 4;
const BYTES: u16 = 1 << 5;
const MILLIONS: u16 = 1 << 6;
const MEAN: u16 = 1 << 7;
const SPLIT: u16 = 1 << 8;
const IDLE: u16 = 1 << 9;
const SHARE: u16 = 1 << 10;
const A_SECOND: u16 = 1 << 11;
const PHYSICAL: u16 = 1 << 12;
const LOGICAL: u16 = 1 << 13;
const DISK: u16 = 1 << 14;

/// Stems in lower case: of English, German, French, Spanish, Italian, Portuguese, Russian, Polish, Czech, Hungarian, Dutch, Swedish, Turkish,
/// Japanese, Chinese and Korean, from lists of counters of these editions, documentation in these languages, and what people posted.
#[rustfmt::skip]
const WORDS: &[(u16, &[&str])] = &[
    (READ, &[
        "read", "les", "lectur", "leíd", "lett", "leitur", "lido", "чтен", "odczyt", "čten", "olvas", "lees", "lez", "läs", 
        "oku", "読", "读", "讀", "읽",
    ]),
    (WRITE, &[
        "writ", "schreib", "schrieb", "écri", "escri", "scritt", "grava", "запис", "zapis", "zápis", "zapsan", "írás", "írt", "schrij",
        "schrev", "skriv", "skrev", "yaz", "書", "写", "寫", "쓰",
    ]),
    (TRANSFER, &[
        "transfer", "übertrag", "trasferim", "обращ", "przes", "přenos", "átvit", "overdr", "överför", "aktar",
        "転送", "传输", "傳輸", "전송",
    ]),
    (QUEUE, &[
        "queue", "warteschlang", "file d", "cola", "coda", "fila", "очеред", "kolejk", "front", "várakoz", "wachtrij", "diskkö", "kölängd",
        "kuyru", "キュー", "队列", "佇列", "대기열", "큐",
    ]),
    (CURRENT, &[
        "current", "aktuel", "actuel", "actual", "attual", "corrent", "atual", "текущ", "bieżąc", "aktuáln", "pillanat", "jelenlegi", "huidig",
        "geçerli", "現在", "当前", "目前", "현재",
    ]),
    (BYTES, &["byte", "octet", "байт", "bajt", "bájt", "bayt", "バイト", "字节", "位元組", "바이트"]),
    (MILLIONS, &["mega", "méga", "мега", "メガ", "메가", "兆"]),
    (MEAN, &[
        "avg", "average", "mittl", "durchschn", "moyen", "promedi", "media", "média", "médio", "средн", "średni", "střed", "prům", "átlag",
        "gem.", "gemid", "genomsn", "medel", "ort.", "ortala", "平均", "평균",
    ]),
    (SPLIT, &[
        "split", "geteilt", "partag", "divi", "sudd", "расщеп", "podziel", "dzielon", "rozděl", "feloszt", "gesplits", "delad", 
        "böl", "分割", "拆分", "분할",
    ]),
    (IDLE, &[
        "idle", "leerlauf", "inactiv", "inattiv", "inativ", "ocios", "бездейств", "простоя", "bezczyn", "nečinn", "üresj", "niet-actie",
        "inaktiv", "boş", "アイドル", "空闲", "閒置", "유휴",
    ]),
    (SHARE, &[
        "%", "percent", "prozent", "pourcent", "porcent", "процент", "procent", "százal", "yüzde", "パーセント", "百分比", "퍼센트",
    ]),
    (A_SECOND, &[
        "per sec", "pro sek", "par sec", "por seg", "al secondo", "в секунду", "na sek", "za sek", "másodperc", "per sek", 
        "saniye",
    ]),
    (PHYSICAL, &[
        "physi", "físi", "fisi", "физич", "fizi", "fizy", "fyzi", "fysi", "物理", "实际", "實體", "실제", "물리",
    ]),
    (LOGICAL, &[
        "logi", "lógi", "логич", "logik", "mantıks", "論理", "逻辑", "邏輯", "논리",
    ]),
    (DISK, &[
        "disk", "disc", "disq", "datenträger", "диск", "dysk", "lemez", "meghajt", "schijf", "ディスク", "磁盘", "磁碟", "디스크",
    ]),
];

#[cfg(test)]
mod tests;
