//! What a label's configuration says: the pool, and the top-level vdev that the device is a part of.
//!
//! Source: OpenZFS `include/sys/fs/zfs.h` (`ZPOOL_CONFIG_*`, `pool_state_t`), `module/zfs/vdev_label.c` (`vdev_config_generate`).

use super::label::Label;
use super::nvlist::Item;

/// Longest text that is kept of a path or a name.
const MAX_LEN: usize = 200;
/// Most features and holes that are kept.
const MAX: usize = 256;

/// A number or text of a configuration, and where it stands in the window.
#[derive(Clone, Debug)]
pub(super) struct Said<T> {
    pub(super) value: T,
    pub(super) at: (u64, usize),
}

/// A vdev.
#[derive(Clone, Debug, Default)]
pub(super) struct Vdev {
    /// `disk`, `file`, `mirror`, `raidz`, `draid`, `replacing`, `spare`.
    pub(super) kind: String,
    pub(super) id: u64,
    pub(super) guid: u64,
    pub(super) kind_at: (u64, usize),
    pub(super) path: Option<String>,
    pub(super) parity: Option<u64>,
    pub(super) ashift: Option<Said<u64>>,
    pub(super) asize: Option<Said<u64>>,
    pub(super) metaslab_shift: Option<Said<u64>>,
    pub(super) is_log: bool,
    /// Data disks of a group and spares of a dRAID.
    pub(super) draid: Option<(u64, u64)>,
    /// It is given another disk, and not everything has been moved yet.
    pub(super) is_expanding: bool,
    /// Those below it, by their index in [`Config::vdevs`]; all come later.
    pub(super) children: Vec<usize>,
}

impl Vdev {
    /// A device, not a group of vdevs.
    pub(super) fn is_leaf(&self) -> bool {
        self.children.is_empty()
    }

    /// As tools print it: `mirror-0`, `raidz2-1`, `draid1:4d:7c:1s-0`.
    pub(super) fn name(&self) -> String {
        format!("{}-{}", self.level(), self.id)
    }

    /// `mirror`, `raidz2`.
    pub(super) fn level(&self) -> String {
        match (self.kind.as_str(), self.parity, self.draid) {
            ("draid", Some(parity), Some((data, spares))) => {
                let children = self.children.len();
                format!("draid{parity}:{data}d:{children}c:{spares}s")
            }
            ("raidz" | "draid", Some(parity), _) => format!("{}{parity}", self.kind),
            (kind, ..) => kind.to_owned(),
        }
    }
}

/// What a label says.
#[derive(Clone, Debug, Default)]
pub(super) struct Config {
    pub(super) name: Option<Said<String>>,
    pub(super) version: Option<Said<u64>>,
    pub(super) state: Option<Said<u64>>,
    pub(super) txg: Option<Said<u64>>,
    pub(super) pool: Option<Said<u64>>,
    /// The device itself.
    pub(super) guid: Option<Said<u64>>,
    /// How many top-level vdevs the pool has, with those that were removed.
    pub(super) tops: Option<Said<u64>>,
    /// Numbers of top-level vdevs that were removed.
    pub(super) holes: Vec<u64>,
    pub(super) features: Vec<String>,
    pub(super) features_at: (u64, usize),
    /// The top-level vdev first; none on spares and caches.
    pub(super) vdevs: Vec<Vdev>,
}

/// States of a pool, as a label records them.
pub(super) const EXPORTED: u64 = 1;
pub(super) const DESTROYED: u64 = 2;
pub(super) const SPARE: u64 = 3;
pub(super) const CACHE: u64 = 4;

impl Config {
    pub(super) fn of(label: &Label) -> Config {
        let lists = &label.lists;
        let number = |list: usize, name: &str| {
            let (value, pair) = lists.number(list, name)?;
            let at = label.place(pair);
            Some(Said { value, at })
        };
        let text = |list: usize, name: &str| {
            let (text, pair) = lists.text(list, name)?;
            let at = label.place(pair);
            let value: String = text.chars().take(MAX_LEN).collect();
            Some(Said { value, at })
        };
        let mut config = Config {
            name: text(0, "name"),
            version: number(0, "version"),
            state: number(0, "state"),
            txg: number(0, "txg"),
            pool: number(0, "pool_guid"),
            guid: number(0, "guid"),
            tops: number(0, "vdev_children"),
            ..Config::default()
        };
        if let Some(Item::Numbers(holes)) = lists.get(0, "hole_array").map(|pair| &pair.item) {
            config.holes = holes.iter().copied().take(MAX).collect();
        }
        if let (Some(pair), [list, ..]) = (
            lists.get(0, "features_for_read"),
            lists.lists(0, "features_for_read"),
        ) {
            config.features_at = label.place(pair);
            let names = lists.pairs(*list).iter().take(MAX);
            config.features = names.map(|pair| pair.name.clone()).collect();
        }
        let mut to_read: Vec<(usize, Option<usize>)> = Vec::new();
        to_read.extend(
            lists
                .lists(0, "vdev_tree")
                .first()
                .map(|list| (*list, None)),
        );
        // The reader of lists bounds their number and depth; each is read once.
        while let Some((list, parent)) = to_read.pop() {
            let kind = text(list, "type");
            let value = |name| number(list, name).map(|said| said.value);
            let index = config.vdevs.len();
            config.vdevs.push(Vdev {
                kind_at: kind.as_ref().map_or((label.config_at(), 1), |kind| kind.at),
                kind: kind.map_or_else(String::new, |kind| kind.value),
                id: value("id").unwrap_or(0),
                guid: value("guid").unwrap_or(0),
                path: text(list, "path").map(|path| path.value),
                parity: value("nparity"),
                ashift: number(list, "ashift"),
                asize: number(list, "asize"),
                metaslab_shift: number(list, "metaslab_shift"),
                is_log: value("is_log") == Some(1),
                draid: value("draid_ndata").zip(value("draid_nspares")),
                is_expanding: lists.get(list, "raidz_expanding").is_some(),
                children: Vec::new(),
            });
            if let Some(parent) = parent.and_then(|parent| config.vdevs.get_mut(parent)) {
                parent.children.push(index);
            }
            // Last in, first out: the first child is read first.
            let children = lists.lists(list, "children").iter().rev();
            to_read.extend(children.map(|child| (*child, Some(index))));
        }
        config
    }

    /// The top-level vdev.
    pub(super) fn top(&self) -> Option<&Vdev> {
        self.vdevs.first()
    }

    /// What the state is called.
    pub(super) fn state_name(&self) -> Option<(&'static str, (u64, usize))> {
        let said = self.state.as_ref()?;
        let name = match said.value {
            0 => "active",
            EXPORTED => "exported",
            DESTROYED => "destroyed",
            SPARE => "spare",
            CACHE => "cache",
            _ => return None,
        };
        Some((name, said.at))
    }

    /// How many top-level vdevs the pool has now.
    pub(super) fn present_tops(&self) -> Option<u64> {
        let all = self.tops.as_ref()?.value;
        let holes = u64::try_from(self.holes.len()).unwrap_or(u64::MAX);
        all.checked_sub(holes)
    }

    /// How many devices the pool has, where this label knows all of them.
    pub(super) fn leaves(&self) -> Option<u64> {
        if self.present_tops() != Some(1) {
            return None;
        }
        let leaves = self.vdevs.iter().filter(|vdev| vdev.is_leaf()).count();
        u64::try_from(leaves).ok().filter(|leaves| *leaves > 0)
    }

    /// The grain of allocation, 2^ashift bytes, when it is one that ZFS can have.
    pub(super) fn sector(&self) -> Option<(u64, (u64, usize))> {
        let ashift = self.top()?.ashift.as_ref()?;
        let shift = u32::try_from(ashift.value).ok()?;
        let bytes = (9..=30).contains(&shift).then(|| 1_u64 << shift)?;
        Some((bytes, ashift.at))
    }
}
