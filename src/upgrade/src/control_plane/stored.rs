//! The form of a survey that is stored: at most 4 KiB, whatever a cluster says about itself.

use super::survey::Survey;
use super::text::Text;

/// The longest form, in bytes.
pub const LONGEST: usize = 4096;

/// How much of a survey is kept, from all to the least.
const LEVELS: [Level; 4] = [
    Level {
        text: 240,
        list: 16,
    },
    Level { text: 80, list: 8 },
    Level { text: 40, list: 3 },
    Level { text: 20, list: 1 },
];

/// The longest text, and the longest list.
#[derive(Clone, Copy)]
struct Level {
    text: usize,
    list: usize,
}

impl Survey {
    /// The survey as JSON in at most [`LONGEST`] bytes. The members are never left out. Texts and
    /// other lists become shorter, so it is for the record and not for a decision.
    #[must_use]
    pub fn stored(&self) -> String {
        let mut forms = LEVELS.iter().map(|level| written(&self.at_level(*level)));
        let fits = |form: &String| form.len() <= LONGEST;
        // Quotation marks count twice in JSON, so names of nothing else may still be too long.
        forms.find(fits).unwrap_or_else(|| written(&self.bare()))
    }

    fn at_level(&self, Level { text, list }: Level) -> Self {
        let mut survey = self.clone();
        survey.node = survey.node.within(text);
        for member in &mut survey.members {
            member.name = member.name.within(text);
            shorten(&mut member.sick, text);
        }
        for unseen in &mut survey.unseen {
            unseen.why = unseen.why.within(text);
        }
        // The first to end are worth the most.
        survey.certificates.sort_by_key(|one| one.until);
        survey.certificates.truncate(list);
        survey.alarms.truncate(list);
        survey.external_authorities.truncate(list);
        survey.room.truncate(list);
        survey.other_manifests.truncate(list);
        survey.others.truncate(list);
        survey.nodes_not_ready.truncate(list);
        survey.unseen.truncate(list);
        truncate(&mut survey.drift, list);
        truncate(&mut survey.missing_images, list);
        survey
    }

    /// The members and what they are, and nothing else of a list.
    fn bare(&self) -> Self {
        let mut survey = Self::of(self.node.within(20), self.kind, self.at);
        survey.me = self.me;
        survey.members.clone_from(&self.members);
        for member in &mut survey.members {
            member.name = member.name.within(20);
            shorten(&mut member.sick, 20);
        }
        survey.owner = self.owner;
        survey
    }
}

fn shorten<const LONGEST: usize>(text: &mut Option<Text<LONGEST>>, longest: usize) {
    *text = text.take().map(|text| text.within(longest));
}

fn truncate<T>(list: &mut Option<Vec<T>>, longest: usize) {
    if let Some(list) = list {
        list.truncate(longest);
    }
}

fn written(survey: &Survey) -> String {
    // No value of it can fail: every key is a text.
    serde_json::to_string(survey).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::*;

    /// A survey in which each text is this letter, as often as it may be, and each list is long.
    fn filled(letter: &str) -> Survey {
        let long = letter.repeat(400);
        let name = || Name::from(long.as_str());
        let mut survey = Survey::of(name(), Kind::Stacked, u64::MAX);
        survey.me = Some(EtcdId(u64::MAX));
        let member = |id| Member {
            id: EtcdId(u64::MAX - id),
            name: name(),
            version: Some(EtcdVersion::new(u32::MAX, u32::MAX, u32::MAX)),
            started: true,
            learner: true,
            leader: true,
            lag: Some(u64::MAX),
            sick: Some(long.as_str().into()),
        };
        survey.take_members((0..9).map(member).collect()).unwrap();
        survey.alarms = vec![
            Alarm {
                member: EtcdId(1),
                kind: AlarmKind::Other(name())
            };
            40
        ];
        survey.drift = Some(vec![
            Drift {
                component: Component::ApiServer,
                setting: name(),
                changed: true
            };
            40
        ]);
        survey.certificates = vec![
            Certificate {
                name: name(),
                from: 1,
                until: u64::MAX
            };
            40
        ];
        survey.missing_images = Some(vec![name(); 40]);
        survey.other_manifests = vec![name(); 40];
        survey.room = vec![
            Place {
                path: name(),
                r#use: Use::Both,
                free_bytes: u64::MAX
            };
            40
        ];
        survey.lock = Some(Lock {
            holder: name(),
            since: Some(u64::MAX),
        });
        for _ in 0..40 {
            survey.miss(Source::Api, long.as_str());
        }
        survey
    }

    #[test]
    fn no_survey_is_stored_in_more_than_its_limit() {
        for letter in ["a", "\"", "\\", "é", "節", "\u{1f600}", "\n"] {
            let survey = filled(letter);
            let text = survey.stored();
            assert!(text.len() <= LONGEST, "{letter:?}: {} bytes", text.len());
            let read: Survey = serde_json::from_str(&text).unwrap();
            assert_eq!(read.members.len(), 9, "{letter:?}");
            let id = |survey: &Survey| survey.members.iter().map(|one| one.id).collect::<Vec<_>>();
            assert_eq!(id(&read), id(&survey));
        }
    }

    #[test]
    fn a_survey_that_fits_is_stored_whole() {
        let mut survey = filled("a");
        survey.alarms.clear();
        survey.drift = Some(Vec::new());
        survey.certificates.truncate(1);
        survey.missing_images = None;
        survey.other_manifests.clear();
        survey.room.truncate(1);
        survey.unseen.clear();
        survey.members.truncate(3);
        let read: Survey = serde_json::from_str(&survey.stored()).unwrap();
        assert_eq!(read, survey);
    }

    #[test]
    fn the_first_certificates_to_end_are_kept() {
        let mut survey = filled("a");
        let certificate = |until| Certificate {
            name: "x".into(),
            from: 1,
            until,
        };
        survey.certificates = (0..40).rev().map(certificate).collect();
        let read: Survey = serde_json::from_str(&survey.stored()).unwrap();
        assert_eq!(read.certificates[0].until, 0);
    }
}
