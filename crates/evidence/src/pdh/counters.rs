//! Names of disk counters, in the languages of Windows.

use std::collections::HashMap;
use std::sync::OnceLock;
use straddle_stack::activity::Quantity;

use super::Factor;
use super::perfmon::IDLE;

/// What a counter is.
pub(super) fn counter(name: &str) -> Option<(Quantity, Factor)> {
    let mut name = name.trim().to_lowercase();
    if name.contains('’') {
        name = name.replace('’', "'");
    }
    let name = name.as_str();
    let by_name = BY_NAME.get_or_init(|| NAMES.iter().rev().copied().collect());
    if let Some(quantity) = by_name.get(name) {
        return Some((*quantity, Factor::Times(1.0)));
    }
    IDLE_NAMES.contains(&name).then_some(IDLE)
}

/// [`NAMES`]: a log of a large host names a hundred thousand counters.
static BY_NAME: OnceLock<HashMap<&str, Quantity>> = OnceLock::new();

const IDLE_NAMES: [&str; 7] = [
    "% idle time",
    "leerlaufzeit (%)",
    "% leerlaufzeit",
    "% d'inactivité",
    "% de tiempo inactivo",
    "% времени бездействия",
    "процент времени бездействия",
];

/// From lists of counters of each edition, and from what people posted.
const NAMES: &[(&str, Quantity)] = &[
    ("avg. disk sec/read", Quantity::ReadLatency),
    ("mittlere sek./lesevorgänge", Quantity::ReadLatency),
    ("mittlere sek./lesevorgang", Quantity::ReadLatency),
    ("moyenne disque s/lecture", Quantity::ReadLatency),
    (
        "promedio de segundos de disco/lectura",
        Quantity::ReadLatency,
    ),
    ("media de s de disco/lectura", Quantity::ReadLatency),
    ("media letture disco/sec", Quantity::ReadLatency),
    ("среднее время чтения с диска (с)", Quantity::ReadLatency),
    ("avg. disk sec/write", Quantity::WriteLatency),
    ("mittlere sek./schreibvorgänge", Quantity::WriteLatency),
    ("mittlere sek./schreibvorgang", Quantity::WriteLatency),
    ("moyenne disque s/écriture", Quantity::WriteLatency),
    (
        "promedio de segundos de disco/escritura",
        Quantity::WriteLatency,
    ),
    ("среднее время записи на диск (с)", Quantity::WriteLatency),
    ("avg. disk sec/transfer", Quantity::TransferLatency),
    ("mittlere sek./übertragung", Quantity::TransferLatency),
    ("mittlere sek./übertragungen", Quantity::TransferLatency),
    ("moyenne disque s/transfert", Quantity::TransferLatency),
    (
        "promedio de segundos de disco/transferencia",
        Quantity::TransferLatency,
    ),
    (
        "среднее время обращения к диску (с)",
        Quantity::TransferLatency,
    ),
    ("disk reads/sec", Quantity::ReadRate),
    ("lesevorgänge/s", Quantity::ReadRate),
    ("lectures disque/s", Quantity::ReadRate),
    ("lecturas de disco/s", Quantity::ReadRate),
    ("обращений чтения с диска/с", Quantity::ReadRate),
    ("disk writes/sec", Quantity::WriteRate),
    ("schreibvorgänge/s", Quantity::WriteRate),
    ("écritures disque/s", Quantity::WriteRate),
    ("escrituras en disco/s", Quantity::WriteRate),
    ("escrituras de disco/s", Quantity::WriteRate),
    ("обращений записи на диск/с", Quantity::WriteRate),
    ("disk transfers/sec", Quantity::TransferRate),
    ("übertragungen/s", Quantity::TransferRate),
    ("transferts disque/s", Quantity::TransferRate),
    ("transferencias de disco/s", Quantity::TransferRate),
    ("обращений к диску/с", Quantity::TransferRate),
    ("disk read bytes/sec", Quantity::ReadThroughput),
    ("bytes gelesen/s", Quantity::ReadThroughput),
    ("lectures disque, octets/s", Quantity::ReadThroughput),
    ("bytes de lectura de disco/s", Quantity::ReadThroughput),
    ("скорость чтения с диска (байт/с)", Quantity::ReadThroughput),
    ("disk write bytes/sec", Quantity::WriteThroughput),
    ("bytes geschrieben/s", Quantity::WriteThroughput),
    ("écritures disque, octets/s", Quantity::WriteThroughput),
    ("bytes de escritura en disco/s", Quantity::WriteThroughput),
    (
        "скорость записи на диск (байт/с)",
        Quantity::WriteThroughput,
    ),
    ("disk bytes/sec", Quantity::TransferThroughput),
    ("bytes/s", Quantity::TransferThroughput),
    ("octets disque/s", Quantity::TransferThroughput),
    ("bytes de disco/s", Quantity::TransferThroughput),
    (
        "скорость обмена с диском (байт/с)",
        Quantity::TransferThroughput,
    ),
    ("avg. disk bytes/read", Quantity::ReadSize),
    ("mittlere bytes/lesevorgang", Quantity::ReadSize),
    ("mittlere bytes/lesevorgänge", Quantity::ReadSize),
    ("moyenne disque, octets/lecture", Quantity::ReadSize),
    ("promedio de bytes de disco/lectura", Quantity::ReadSize),
    (
        "средний размер одного чтения с диска (байт)",
        Quantity::ReadSize,
    ),
    ("avg. disk bytes/write", Quantity::WriteSize),
    ("mittlere bytes/schreibvorgang", Quantity::WriteSize),
    ("mittlere bytes/schreibvorgänge", Quantity::WriteSize),
    ("moyenne disque, octets/écriture", Quantity::WriteSize),
    ("promedio de bytes de disco/escritura", Quantity::WriteSize),
    (
        "средний размер одной записи на диск (байт)",
        Quantity::WriteSize,
    ),
    ("avg. disk bytes/transfer", Quantity::TransferSize),
    ("mittlere bytes/übertragung", Quantity::TransferSize),
    ("moyenne disque, octets/transfert", Quantity::TransferSize),
    (
        "promedio de bytes de disco/transferencia",
        Quantity::TransferSize,
    ),
    (
        "средний размер одного обмена с диском (байт)",
        Quantity::TransferSize,
    ),
    ("avg. disk queue length", Quantity::QueueLength),
    ("current disk queue length", Quantity::SampledQueueLength),
    (
        "durchschnittl. warteschlangenlänge des datenträgers",
        Quantity::QueueLength,
    ),
    (
        "durchschnittliche warteschlangenlänge",
        Quantity::QueueLength,
    ),
    ("aktuelle warteschlangenlänge", Quantity::SampledQueueLength),
    (
        "longueur moyenne de file d'attente du disque",
        Quantity::QueueLength,
    ),
    (
        "taille de file d'attente du disque actuelle",
        Quantity::SampledQueueLength,
    ),
    (
        "longitud promedio de la cola de disco",
        Quantity::QueueLength,
    ),
    (
        "longitud actual de la cola de disco",
        Quantity::SampledQueueLength,
    ),
    ("средняя длина очереди диска", Quantity::QueueLength),
    ("текущая длина очереди диска", Quantity::SampledQueueLength),
    ("avg. disk read queue length", Quantity::ReadQueueLength),
    (
        "durchschnittl. warteschlangenlänge der datenträger-lesevorgänge",
        Quantity::ReadQueueLength,
    ),
    (
        "longueur moyenne de file d'attente lecture disque",
        Quantity::ReadQueueLength,
    ),
    (
        "средняя длина очереди чтения диска",
        Quantity::ReadQueueLength,
    ),
    ("avg. disk write queue length", Quantity::WriteQueueLength),
    (
        "durchschnittl. warteschlangenlänge der datenträger-schreibvorgänge",
        Quantity::WriteQueueLength,
    ),
    (
        "longueur moyenne de file d'attente écriture disque",
        Quantity::WriteQueueLength,
    ),
    (
        "средняя длина очереди записи на диск",
        Quantity::WriteQueueLength,
    ),
    ("média de disco s/leitura", Quantity::ReadLatency),
    ("média de disco s/gravação", Quantity::WriteLatency),
    ("média de disco s/transferência", Quantity::TransferLatency),
    ("leituras de disco/s", Quantity::ReadRate),
    ("leituras de disco/seg", Quantity::ReadRate),
    ("gravações de disco/s", Quantity::WriteRate),
    ("gravações de disco/seg", Quantity::WriteRate),
    ("comprimento médio da fila de disco", Quantity::QueueLength),
    (
        "comprimento da fila de disco atual",
        Quantity::SampledQueueLength,
    ),
    (
        "comprimento médio da fila de gravação de disco",
        Quantity::WriteQueueLength,
    ),
    ("media sec/trasferimento disco", Quantity::TransferLatency),
    ("letture disco/sec", Quantity::ReadRate),
    ("scritture disco/sec", Quantity::WriteRate),
    ("byte letti da disco/sec", Quantity::ReadThroughput),
    ("byte scritti su disco/sec", Quantity::WriteThroughput),
    ("byte da/a disco/sec", Quantity::TransferThroughput),
    ("lunghezza media coda del disco", Quantity::QueueLength),
    ("split io/sec", Quantity::SplitRate),
    ("geteilte e/a/s", Quantity::SplitRate),
    ("e/s partagées/s", Quantity::SplitRate),
    ("división de e/s por segundo", Quantity::SplitRate),
    ("расщеплений ввода-вывода/с", Quantity::SplitRate),
];
