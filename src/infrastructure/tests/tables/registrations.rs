//! The account of a registration, from the first look to the deletion.

use infrastructure::{Counts, RegistrationAct, RegistrationFacts, decide_registration};

const TWO: Counts = Counts {
    registered: 3,
    approved: 2,
};

/// Does what is decided, and returns all acts.
fn run(facts: &mut RegistrationFacts) -> Vec<RegistrationAct> {
    let mut acts = Vec::new();
    while let Some(act) = decide_registration(facts) {
        match act {
            RegistrationAct::AddFinalizer => facts.finalizer = true,
            RegistrationAct::RemoveFinalizer => facts.finalizer = false,
            RegistrationAct::MakeAccount => facts.account = true,
            RegistrationAct::RemoveAccount => facts.account = false,
            RegistrationAct::Show(counts) => facts.shown = counts,
        }
        acts.push(act);
        assert!(acts.len() < 10, "{acts:?}");
    }
    acts
}

#[test]
fn registration_gets_its_finalizer_before_its_account() {
    use RegistrationAct::{AddFinalizer, MakeAccount, Show};
    let mut facts = RegistrationFacts {
        counted: TWO,
        ..RegistrationFacts::default()
    };
    assert_eq!(run(&mut facts), [AddFinalizer, MakeAccount, Show(TWO)]);
    facts.account = false;
    assert_eq!(run(&mut facts), [MakeAccount], "somebody deleted it");
}

#[test]
fn deleted_registration_goes_after_its_account() {
    use RegistrationAct::{RemoveAccount, RemoveFinalizer};
    let mut facts = RegistrationFacts {
        deleting: true,
        finalizer: true,
        account: true,
        shown: Counts::default(),
        counted: TWO,
    };
    assert_eq!(run(&mut facts), [RemoveAccount, RemoveFinalizer]);
    assert_eq!(run(&mut facts), []);
}
