//! Code pages: which one a text is written in that is no UTF-8.
//!
//! Consoles of Windows print in the code page of their language, and so does what was redirected to a file. Words that tools
//! print about storage tell those apart that have letters of their own; what is left is Latin.

use encoding_rs::{
    BIG5, EUC_KR, Encoding, GBK, IBM866, KOI8_R, SHIFT_JIS, WINDOWS_1250, WINDOWS_1251,
    WINDOWS_1254,
};

/// Code page 437, upper half: what an English console of Windows writes.
pub(super) const CP437: &str = "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{a0}";
/// Code page 850: Western Europe. Most letters are where 437 has them.
const CP850: &str = "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜø£Ø×ƒáíóúñÑªº¿®¬½¼¡«»░▒▓│┤ÁÂÀ©╣║╗╝¢¥┐└┴┬├─┼ãÃ╚╔╩╦╠═╬¤ðÐÊËÈıÍÎÏ┘┌█▄¦Ì▀ÓßÔÒõÕµþÞÚÛÙýÝ¯´\u{ad}±‗¾¶§÷¸°¨·¹³²■\u{a0}";
/// Code page 852: Central Europe.
const CP852: &str = "ÇüéâäůćçłëŐőîŹÄĆÉĹĺôöĽľŚśÖÜŤťŁ×čáíóúĄąŽžĘę¬źČş«»░▒▓│┤ÁÂĚŞ╣║╗╝Żż┐└┴┬├─┼Ăă╚╔╩╦╠═╬¤đĐĎËďŇÍÎě┘┌█▄ŢŮ▀ÓßÔŃńňŠšŔÚŕŰýÝţ´\u{ad}˝˛ˇ˘§÷¸°¨˙űŘř■\u{a0}";
/// Code page 1252, 0x80 to 0x9f; the rest is Latin-1.
pub(super) const CP1252: &str = "€\u{81}‚ƒ„…†‡ˆ‰Š‹Œ\u{8d}Ž\u{8f}\u{90}‘’“”•–—˜™š›œ\u{9d}žŸ";

/// Code pages that are known by words.
const BY_WORDS: [(&Encoding, &[&str]); 9] = [
    (IBM866, CYRILLIC),
    (WINDOWS_1251, CYRILLIC),
    (KOI8_R, CYRILLIC),
    (
        SHIFT_JIS,
        &[
            "ディスク",
            "パーティション",
            "セクタ",
            "ボリューム",
            "オフセット",
            "バイト",
            "ドライブ",
            "データベース",
            "ページ",
        ],
    ),
    (
        GBK,
        &[
            "磁盘",
            "分区",
            "偏移",
            "扇区",
            "字节",
            "驱动器",
            "数据库",
            "成功处理",
        ],
    ),
    (
        BIG5,
        &[
            "磁碟",
            "位移",
            "磁區",
            "位元組",
            "大小",
            "資料庫",
            "成功處理",
        ],
    ),
    (
        EUC_KR,
        &[
            "디스크",
            "파티션",
            "오프셋",
            "섹터",
            "볼륨",
            "바이트",
            "데이터베이스",
            "페이지",
        ],
    ),
    (WINDOWS_1250, CENTRAL_EUROPE),
    (
        WINDOWS_1254,
        &["Mantıksal", "bölüm", "Bölüm", "başarıyla", "veritabanı"],
    ),
];
const CYRILLIC: &[&str] = &[
    "диск",
    "раздел",
    "смещен",
    "размер",
    "сектор",
    "байт",
    "том ",
    "базы данных",
    "страниц",
];
/// With letters that lie elsewhere in Western Europe.
const CENTRAL_EUROPE: &[&str] = &[
    "ość", "ięc", "oddíl", "dzięk", "średni", "długo", "čten", "průměr", "střed", "přen", "ősz",
    "pomyśl", "úspěš",
];

/// Most of a text that is looked at to tell its code page.
const SAMPLE: usize = 64 << 10;

/// What bytes above ASCII stand for.
#[derive(Debug)]
pub struct CodePage(Page);

#[derive(Debug)]
enum Page {
    Known(&'static Encoding),
    /// One character for each byte of the upper half.
    Latin(Vec<char>),
}

impl CodePage {
    /// The code page of a text that is no UTF-8, by words and letters in it.
    #[must_use]
    pub fn of(bytes: &[u8]) -> CodePage {
        let sample = sample(bytes);
        let known = BY_WORDS.iter().map(|(page, words)| {
            let (text, _, broken) = page.decode(&sample);
            // A file may be cut in the middle of a character, and a label may be in another code page.
            let count = count(&text, words);
            (if broken { count.div_ceil(2) } else { count }, *page)
        });
        let best = known.reduce(|best, next| if next.0 > best.0 { next } else { best });
        CodePage(match best {
            Some((1.., page)) => Page::Known(page),
            _ => Page::Latin(latin(&sample)),
        })
    }

    /// The text that bytes in it are.
    #[must_use]
    pub fn decode(&self, bytes: &[u8]) -> String {
        match &self.0 {
            Page::Known(page) => page.decode(bytes).0.into_owned(),
            Page::Latin(table) => one_byte(bytes, table),
        }
    }
}

/// The lines in which there is more than ASCII, up to [`SAMPLE`].
fn sample(bytes: &[u8]) -> Vec<u8> {
    let mut found = Vec::new();
    let lines = bytes.split_inclusive(|byte| *byte == b'\n');
    for line in lines.filter(|line| !line.is_ascii()) {
        let room = SAMPLE - found.len();
        found.extend(line.iter().take(room));
        if found.len() >= SAMPLE {
            break;
        }
    }
    found
}

/// How often these words, which are in lower case, are in a text.
fn count(text: &str, words: &[&str]) -> usize {
    let lower;
    let text = match words {
        CYRILLIC => {
            // Of all letters only those of the words have to be made small, as each block of a long log is asked about.
            lower = text.chars().map(small).collect::<String>();
            lower.as_str()
        }
        CENTRAL_EUROPE => {
            lower = text.to_lowercase();
            lower.as_str()
        }
        // Signs of East Asia have no case.
        _ => text,
    };
    words.iter().map(|word| text.matches(word).count()).sum()
}

/// A letter of Cyrillic words in lower case, anything else as it is.
fn small(c: char) -> char {
    match c {
        'А'..='Я' => char::from_u32(u32::from(c) + 0x20).unwrap_or(c),
        c => c,
    }
}

/// The upper half of a Latin code page. Letters of consoles lie where 1252 has signs that no tool prints.
fn latin(sample: &[u8]) -> Vec<char> {
    let console = sample.iter().filter(|b| (0x80..0xa0).contains(*b)).count();
    let windows = sample.iter().filter(|b| **b >= 0xc0).count();
    if console < windows {
        return CP1252.chars().chain('\u{a0}'..='\u{ff}').collect();
    }
    let tables = [CP437, CP850].map(|table| table.chars().collect::<Vec<char>>());
    let [english, western] = tables;
    let central: Vec<char> = CP852.chars().collect();
    if count(&one_byte(sample, &central), CENTRAL_EUROPE) > 0 {
        return central;
    }
    if signs_in_words(&one_byte(sample, &western)) < signs_in_words(&one_byte(sample, &english)) {
        return western;
    }
    english
}

/// How many signs stand between letters, as where a letter was taken for a part of a frame.
fn signs_in_words(text: &str) -> usize {
    let chars: Vec<char> = text.chars().collect();
    let sign = |c: char| !c.is_ascii() && !c.is_alphabetic();
    let in_word =
        |three: &&[char]| sign(three[1]) && (three[0].is_alphabetic() || three[2].is_alphabetic());
    chars.windows(3).filter(in_word).count()
}

fn one_byte(bytes: &[u8], table: &[char]) -> String {
    let char_of = |byte: &u8| match byte.checked_sub(0x80) {
        None => char::from(*byte),
        Some(upper) => table.get(usize::from(upper)).copied().unwrap_or('?'),
    };
    bytes.iter().map(char_of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_have_an_entry_for_each_byte() {
        for table in [CP437, CP850, CP852] {
            assert_eq!(table.chars().count(), 128, "{table}");
        }
        assert_eq!(CP1252.chars().count(), 32);
    }

    #[test]
    fn code_pages_are_known_by_words() {
        for (text, page) in [
            ("  Раздел 1    Основной          931 Гб    31 Кб\n", IBM866),
            ("Выбран диск 1.\n", WINDOWS_1251),
            ("Выбран диск 1.\n", KOI8_R),
            ("ディスク 1 が選択されました。\n", SHIFT_JIS),
            ("磁盘 1 现在是所选磁盘。\n", GBK),
            ("磁碟 1 是目前選取的磁碟。\n", BIG5),
            ("1 디스크가 선택한 디스크입니다.\n", EUC_KR),
            ("Średnia długość kolejki dysku\n", WINDOWS_1250),
            ("Střední doba disku/čtení\n", WINDOWS_1250),
            ("MantıksalDisk(C:)\n", WINDOWS_1254),
            // Of servers, by themselves.
            ("обработал 338 страниц за 0,155 с", IBM866),
            ("обработал 338 страниц за 0,155 с", WINDOWS_1251),
            ("338 ページが 0.155 秒間で正常に処理されました", SHIFT_JIS),
            ("BACKUP LOG 成功处理了 338 页，花费 0.155 秒", GBK),
            ("BACKUP LOG 已成功處理 338 頁，費時 0.155 秒", BIG5),
            ("338개의 페이지를 0.155초 동안 처리했습니다", EUC_KR),
            ("pomyślnie przetworzyła 338 stron", WINDOWS_1250),
            ("úspěšně zpracoval 338 stránek", WINDOWS_1250),
            ("338 sayfayı başarıyla işledi", WINDOWS_1254),
        ] {
            let (bytes, _, unmappable) = page.encode(text);
            assert!(!unmappable, "{}", page.name());
            assert_eq!(CodePage::of(&bytes).decode(&bytes), text, "{}", page.name());
            let ascii = "Name  StartingOffset\n".repeat(10_000);
            let behind = [ascii.as_bytes(), &bytes].concat();
            assert!(
                CodePage::of(&behind).decode(&behind).ends_with(text),
                "{}",
                page.name()
            );
        }
    }

    #[test]
    fn words_are_known_in_any_case() {
        for letter in 'А'..='я' {
            assert_eq!(small(letter).to_string(), letter.to_lowercase().to_string());
        }
        for (text, times) in [
            ("ДИСК 0, Диск 1, диск 2", 3),
            ("ТОМ 1 атом 2", 2),
            ("disk", 0),
        ] {
            assert_eq!(count(text, CYRILLIC), times, "{text}");
        }
        assert_eq!(count("WIELKOŚĆ, Wielkość", CENTRAL_EUROPE), 2);
        assert_eq!(count("磁盘 1, 分区 2", &["磁盘", "分区"]), 2);
    }

    #[test]
    fn latin_ones_are_known_by_where_letters_lie() {
        for (bytes, text) in [
            (&b"Datentr\x84ger"[..], "Datenträger"),
            (b"Datentr\xe4ger", "Datenträger"),
            (b"Parti\x87\xc6o", "Partição"),
            (b"Tama\xa4o", "Tamaño"),
            (b"Tama\xf1o", "Tamaño"),
            (b"Przesuni\xa9cie", "Przesunięcie"),
        ] {
            assert_eq!(CodePage::of(bytes).decode(bytes), text);
        }
    }
}
