//! The cast: the systems, four requests, and their values in the brain's observations.

use std::sync::OnceLock;

use upgrade::{
    BootId, Deployment, Digest, ImageFacts, ImageInfo, RawRequest, Room, UpgradeId, Version,
};

/// All letters, oldest first. They are hexadecimal digits, because they represent commits.
const LETTERS: [char; 7] = ['9', 'a', 'b', 'c', 'd', 'e', 'f'];

/// The minor version of the oldest system.
const OLDEST: usize = 34;

/// The position of a letter in the list.
fn place(letter: char) -> usize {
    let found = LETTERS.iter().position(|one| *one == letter);
    found.unwrap_or(LETTERS.len() - 1)
}

/// A deployment on the disk. `a` runs at the beginning, and requests name `b` and `c`. Later
/// letters are newer, and `9` is the oldest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct System {
    /// The commit.
    pub letter: char,
    /// 0 or 1: a second deployment of a commit changes its serial.
    pub serial: u8,
    /// Kept as proven.
    pub pinned: bool,
}

impl System {
    /// A deployment without a pin.
    #[must_use]
    pub const fn new(letter: char, serial: u8) -> Self {
        Self {
            letter,
            serial,
            pinned: false,
        }
    }

    /// Whether both are the same folder on the disk.
    #[must_use]
    pub const fn same(self, other: Self) -> bool {
        self.letter as u32 == other.letter as u32 && self.serial == other.serial
    }

    /// The deployment as the brain sees it.
    #[must_use]
    pub fn deployment(self) -> Deployment {
        let digest = digest(self.letter);
        Deployment {
            bootcsum: digest.as_str().to_owned(),
            digest,
            serial: u32::from(self.serial),
            stateroot: "os".to_owned(),
            pinned: self.pinned,
            kept: self.pinned,
        }
    }

    /// Converts back from the brain's deployment.
    #[must_use]
    pub fn of(deployment: &Deployment) -> Self {
        Self {
            letter: letter(&deployment.digest),
            serial: u8::from(deployment.serial != 0),
            pinned: deployment.pinned,
        }
    }
}

/// A system that a person deploys, and vouches for.
pub const OWN: System = System::new('d', 0);

/// The content of the requester's annotations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Ask {
    /// `b` by its ref, with an id.
    First,
    /// `b` by its ref, with a new id: a repeated request.
    Again,
    /// `c`, pinned, with its own id.
    Other,
    /// `b`, pinned, without an id: it does not show whether the request is repeated.
    Plain,
}

/// Every request.
pub const ASKS: [Ask; 4] = [Ask::First, Ask::Again, Ask::Other, Ask::Plain];

impl Ask {
    /// The annotations.
    #[must_use]
    pub fn raw(self) -> RawRequest {
        let (image, id) = match self {
            Self::First => ("ostree:careen:os/b".to_owned(), Some("one")),
            Self::Again => ("ostree:careen:os/b".to_owned(), Some("two")),
            Self::Other => (format!("ostree:careen:os/c@{}", digest('c')), Some("three")),
            Self::Plain => (format!("ostree:careen:os/b@{}", digest('b')), None),
        };
        RawRequest {
            id: id.map(str::to_owned),
            ..RawRequest::scheduled(image)
        }
    }

    /// The image that it requests.
    #[must_use]
    pub const fn letter(self) -> char {
        match self {
            Self::First | Self::Again | Self::Plain => 'b',
            Self::Other => 'c',
        }
    }

    /// The request with these annotations.
    #[must_use]
    pub fn of(raw: &RawRequest) -> Option<Self> {
        ASKS.into_iter().find(|ask| ask.raw() == *raw)
    }
}

/// The commit of a letter.
#[must_use]
pub fn digest(letter: char) -> Digest {
    static ALL: OnceLock<Vec<Digest>> = OnceLock::new();
    let all = ALL.get_or_init(|| LETTERS.into_iter().map(parsed_digest).collect());
    all[place(letter)].clone()
}

fn parsed_digest(letter: char) -> Digest {
    let text = letter.to_string().repeat(64);
    text.parse()
        .unwrap_or_else(|_| unreachable!("{letter} is a hexadecimal digit"))
}

/// The letter of a commit.
#[must_use]
pub fn letter(digest: &Digest) -> char {
    digest.as_str().chars().next().unwrap_or('?')
}

/// The id of the n-th boot.
#[must_use]
pub fn boot_id(number: u8) -> BootId {
    format!("{number:04x}")
        .parse()
        .unwrap_or_else(|_| unreachable!("hexadecimal digits are an id"))
}

/// A number for the id of an upgrade. Ids that the brain created (`r1-…` and so on) start at 100.
#[must_use]
pub fn id_number(id: &UpgradeId) -> u8 {
    match id.as_str() {
        "one" => 1,
        "two" => 2,
        "three" => 3,
        own => {
            let counted = own.strip_prefix('r').and_then(|own| own.split('-').next());
            let counted: Option<u8> = counted.and_then(|counted| counted.parse().ok());
            counted.map_or(0, |counted| counted.saturating_add(100))
        }
    }
}

/// The version of a system: each letter is one minor version newer.
#[must_use]
pub fn version(letter: char) -> Version {
    static ALL: OnceLock<Vec<Version>> = OnceLock::new();
    let parse = |minor: usize| {
        format!("v1.{minor}.0")
            .parse()
            .unwrap_or_else(|_| unreachable!("it is a version"))
    };
    let minors = OLDEST..OLDEST + LETTERS.len();
    let all = ALL.get_or_init(|| minors.map(parse).collect());
    all[place(letter)].clone()
}

/// What `careen-deploy verify` finds in a good image.
#[must_use]
pub fn facts(letter: char) -> ImageFacts {
    let room = Room { need: 1, free: 2 };
    ImageFacts {
        commit: digest(letter),
        info: Some(ImageInfo {
            format: 1,
            kubernetes: version(letter),
            architecture: "x86_64".to_owned(),
            stage: Some(1),
            control: 0,
        }),
        kernel: Some("6.12".to_owned()),
        timestamp: 1,
        running: None,
        lacks: Box::default(),
        branches: Box::default(),
        running_branches: Box::default(),
        root: room,
        boot: room,
    }
}

/// The same in an image of another branch that is older than the running system.
#[must_use]
pub fn facts_of_another_branch(letter: char) -> ImageFacts {
    let branch = |name: &str| Box::from([name.to_owned()]);
    ImageFacts {
        running: Some(2),
        branches: branch("os/other"),
        running_branches: branch("os/b"),
        ..facts(letter)
    }
}
