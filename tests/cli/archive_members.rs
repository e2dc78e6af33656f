//! Members of one array or volume group that lie in one archive: they are put together, as the images of a directory are.

use serde_json::Value;
use std::fs;
use std::path::Path;

use crate::support::{repository, scratch, sh, straddle};

/// Writes the members that a seed of this corpus holds to `disk1.img` and so on.
fn members(here: &Path, corpus: &str, seed: &str) -> Vec<String> {
    let seed = fs::read(repository().join("fuzz/corpus").join(corpus).join(seed)).expect("a seed");
    let members = straddle_testkit::sparse::members(&seed);
    let named = (1..).zip(members).map(|(number, member)| {
        let name = format!("disk{number}.img");
        fs::write(here.join(&name), member).expect("writable");
        name
    });
    named.collect()
}

fn document(here: &Path, target: &str) -> Value {
    let run = straddle(here, &["check", "--json", "--fail-on", "never", target]);
    serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{}", run.transcript()))
}

/// What is known of the array: kind, name without the path of the target, what it lies on, and its grids.
fn layers(target: &Value) -> Vec<String> {
    let stack = target["stack"].as_array().expect("a stack");
    let short = |value: &Value| {
        let name = value.as_str().expect("a name");
        name.rsplit('/').next().unwrap_or(name).to_owned()
    };
    let layer = |layer: &Value| {
        let grids = layer["grids"].as_array().expect("grids").iter();
        let grids = grids.map(|grid| format!("{} {}", grid["role"], grid["grid"]["value"]));
        let below = layer["below"].as_array().expect("below").iter();
        let below = below.map(|id| short(&stack[id.as_u64().expect("an id") as usize]["name"]));
        format!(
            "{} {} on {:?} start {} grids {:?}",
            layer["kind"],
            short(&layer["name"]),
            below.collect::<Vec<_>>(),
            layer["placement"]["value"]["start"],
            grids.collect::<Vec<_>>()
        )
    };
    stack.iter().map(layer).collect()
}

/// As a directory gives them, in whatever the archive is packed.
#[test]
fn an_archive_of_members_is_what_a_directory_of_them_is() {
    for (corpus, seed) in [
        ("md", "raid5"),
        ("md", "near"),
        ("lvm2", "stripes-of-three"),
    ] {
        let folder = scratch();
        let here = folder.path();
        fs::create_dir(here.join("images")).expect("writable");
        let names = members(&here.join("images"), corpus, seed);
        assert!(names.len() >= 3, "{seed}");
        let listed = names.join(" ");
        sh(
            here,
            &format!(
                "cd images; tar cf ../plain.tar {listed}; tar czf ../packed.tar.gz {listed}; tar cJf ../packed.tar.xz {listed}
                 tar cSf ../holes.tar {listed}; tar cSzf ../holes.tar.gz {listed}; printf '<Envelope/>' > vm.ovf; tar cf ../vm.ova vm.ovf {listed}; rm vm.ovf"
            ),
        );
        let directory = document(here, "images");
        let expected = layers(&directory["targets"][0]);
        assert!(
            expected
                .iter()
                .any(|layer| layer.starts_with("\"array\"") && layer.contains("stripe-unit")),
            "{seed}: {expected:#?}"
        );
        for target in [
            "plain.tar",
            "packed.tar.gz",
            "packed.tar.xz",
            "holes.tar",
            "holes.tar.gz",
            "vm.ova",
        ] {
            let document = document(here, target);
            let targets = document["targets"].as_array().expect("targets");
            assert_eq!(targets.len(), 1, "{seed}, {target}: {document:#}");
            let whole: Vec<String> = names
                .iter()
                .map(|name| format!("{target}/{name}"))
                .collect();
            assert_eq!(targets[0]["target"], whole.join(" + "), "{seed}, {target}");
            assert_eq!(
                targets[0]["taken_as"]["words"], "images in an archive that belong together",
                "{seed}, {target}"
            );
            assert_eq!(layers(&targets[0]), expected, "{seed}, {target}");
        }
    }
}

/// A virtual disk in several files is one disk in an archive too, whatever order they come in: extents of both kinds, and a child with its
/// parent; two that have the same names in two folders stay apart.
#[test]
fn the_files_of_a_virtual_disk_are_put_together() {
    let folder = scratch();
    let here = folder.path();
    sh(
        here,
        "mkdir a b; printf 'label: dos\nstart=63,size=4194304\nstart=4300800\n' > table; truncate -s 2300M raw.img; sfdisk -q raw.img < table
         qemu-img convert -O vmdk -o subformat=twoGbMaxExtentSparse raw.img a/Sparse.vmdk; cd a
         tar cf ../first.tar Sparse.vmdk Sparse-s00?.vmdk; tar czf ../last.tgz Sparse-s00?.vmdk Sparse.vmdk
         printf '<Envelope/>' > vm.ovf; tar cf ../vm.ova vm.ovf Sparse-s00?.vmdk Sparse.vmdk
         tar cf ../part.tar Sparse-s001.vmdk; tar cf ../lost.tar Sparse.vmdk Sparse-s001.vmdk; cd ..
         qemu-img create -q -f vmdk -b a/Sparse.vmdk -F vmdk child.vmdk; mv child.vmdk a; tar cf child.tar -C a child.vmdk Sparse.vmdk Sparse-s001.vmdk Sparse-s002.vmdk
         printf 'label: dos\nstart=2048\n' | sfdisk -q raw.img; qemu-img convert -O vmdk -o subformat=twoGbMaxExtentSparse raw.img b/Sparse.vmdk
         tar cf two.tar a/Sparse*.vmdk b/Sparse*.vmdk
         truncate -s 8M small.img; printf 'label: dos\nstart=63,size=4096\nstart=10240\n' | sfdisk -q small.img
         split -b 4M -d -a 1 --additional-suffix=.vmdk small.img f
         printf '# Disk DescriptorFile\nversion=1\nCID=fffffffe\nparentCID=ffffffff\ncreateType=\"twoGbMaxExtentFlat\"\nRW 8192 FLAT \"f0.vmdk\" 0\nRW 8192 FLAT \"f1.vmdk\" 0\n' > flat.vmdk
         tar cf flat.tar f0.vmdk f1.vmdk flat.vmdk; tar cSzf holes.tgz f0.vmdk f1.vmdk flat.vmdk",
    );
    let starts = |target: &Value| -> Vec<u64> {
        let stack = target["stack"].as_array().expect("a stack").iter();
        stack
            .filter(|layer| layer["kind"] == "partition")
            .filter_map(|layer| layer["placement"]["value"]["start"].as_u64())
            .collect()
    };
    let (sparse, flat) = ([63 * 512, 4_300_800 * 512], [63 * 512, 10_240 * 512]);
    for (target, expected) in [
        ("first.tar", sparse),
        ("last.tgz", sparse),
        ("vm.ova", sparse),
        ("child.tar", sparse),
        ("flat.tar", flat),
        ("holes.tgz", flat),
    ] {
        let document = document(here, target);
        let targets = document["targets"].as_array().expect("targets");
        assert_eq!(targets.len(), 1, "{target}: {document:#}");
        assert_eq!(starts(&targets[0]), expected, "{target}");
        let text = targets[0].to_string();
        assert!(!text.contains("STR107"), "{target}: {text}");
        assert!(!text.contains("not followed"), "{target}: {text}");
    }
    let two = document(here, "two.tar");
    let targets = two["targets"].as_array().expect("targets").iter();
    let found: Vec<Vec<u64>> = targets.map(starts).collect();
    assert_eq!(found, [sparse.to_vec(), vec![1 << 20]]);
    // An extent by itself, and a disk that lacks one.
    let part = document(here, "part.tar");
    let words = &part["targets"][0]["taken_as"]["words"];
    assert_eq!(words, "an image in an archive", "{part:#}");
    let lost = document(here, "lost.tar");
    assert_eq!(lost["targets"].as_array().map(Vec::len), Some(1));
    assert!(lost.to_string().contains("Sparse-s002.vmdk"), "{lost:#}");
}

/// Files of an archive that name each other, or themselves.
#[test]
fn files_that_lead_back_to_themselves_are_an_error_in_an_archive_too() {
    let folder = scratch();
    let here = folder.path();
    sh(
        here,
        "for pair in 'a b' 'b a' 'c c'; do set -- $pair
         printf '# Disk DescriptorFile\nversion=1\nCID=fffffffe\nparentCID=ffffffff\ncreateType=\"twoGbMaxExtentSparse\"\nRW 8192 SPARSE \"%s.vmdk\"\n' $2 > $1.vmdk
         done; tar cf two.tar a.vmdk b.vmdk; tar czf one.tgz c.vmdk",
    );
    for target in ["two.tar", "one.tgz"] {
        let run = straddle(here, &["check", "--details", target]);
        assert_eq!(run.code, Some(2), "{}", run.transcript());
        assert!(
            run.stdout.contains("leads back to itself"),
            "{}",
            run.transcript()
        );
    }
}

#[test]
fn what_belongs_to_nothing_stays_by_itself() {
    let folder = scratch();
    let here = folder.path();
    let names = members(here, "md", "raid5");
    sh(
        here,
        &format!(
            "truncate -s 8M other.img; printf 'label: dos\\nstart=63\\n' | sfdisk -q other.img
             tar cf all.tar {} other.img; tar czf one.tar.gz {}",
            names.join(" "),
            names[0]
        ),
    );
    let document = document(here, "all.tar");
    let targets = document["targets"].as_array().expect("targets").iter();
    let found: Vec<&str> = targets
        .map(|target| target["target"].as_str().expect("a name"))
        .collect();
    let whole: Vec<String> = names.iter().map(|name| format!("all.tar/{name}")).collect();
    assert_eq!(found, ["all.tar/other.img", whole.join(" + ").as_str()]);
    // One of them alone says that the others are missing.
    let run = straddle(here, &["check", "--fail-on", "never", "one.tar.gz"]);
    assert_eq!(run.code, Some(0), "{}", run.transcript());
    assert!(run.stdout.contains("not given"), "{}", run.transcript());
    assert!(
        run.stdout.contains("an image in an archive"),
        "{}",
        run.transcript()
    );
}

#[test]
fn a_member_that_is_missing_or_damaged_is_said_to_be() {
    let folder = scratch();
    let here = folder.path();
    let names = members(here, "md", "raid5");
    let (last, others) = names.split_last().expect("members");
    let others = others.join(" ");
    sh(
        here,
        &format!(
            "tar cf missing.tar {others}; cp {last} keep; head -c 3000 /dev/zero | tr '\\0' 'x' > {last}; tar cf broken.tar {others} {last}; cp keep {last}
             tar cf cut.tar {others} {last}; truncate -s $(($(stat -c %s cut.tar) * 9 / 10)) cut.tar; gzip -c cut.tar > cut.tar.gz
             tar czf torn.tar.gz {others} {last}; truncate -s -40 torn.tar.gz"
        ),
    );
    // The others come to an array that lacks one.
    for target in ["missing.tar", "broken.tar"] {
        let run = straddle(here, &["check", "--details", "--fail-on", "never", target]);
        assert!(run.stdout.contains("not given"), "{}", run.transcript());
        assert!(run.stdout.contains("level raid5"), "{}", run.transcript());
    }
    for target in ["cut.tar", "cut.tar.gz", "torn.tar.gz"] {
        let run = straddle(here, &["check", "--fail-on", "never", target]);
        assert_eq!(run.code, Some(2), "{}", run.transcript());
        assert!(run.stderr.contains("cut short"), "{}", run.transcript());
        assert!(
            run.stdout.contains("raid5"),
            "what is there is shown: {}",
            run.transcript()
        );
    }
}
