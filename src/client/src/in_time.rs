//! The limit on the time of one answer.

use std::future::Future;
use std::time::Duration;

/// No answer came within this time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoAnswer(pub Duration);

/// Makes one request, and waits this long for its answer.
///
/// # Errors
/// As the request, or [`NoAnswer`]. The caller's error says what each means.
pub async fn in_time<T, E>(
    limit: Duration,
    request: impl Future<Output = kube::Result<T>>,
) -> Result<T, E>
where
    E: From<kube::Error> + From<NoAnswer>,
{
    match tokio::time::timeout(limit, request).await {
        Ok(answer) => Ok(answer?),
        Err(_) => Err(NoAnswer(limit).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Eq)]
    enum Failed {
        Asked,
        Waited(Duration),
    }

    impl From<kube::Error> for Failed {
        fn from(_: kube::Error) -> Self {
            Self::Asked
        }
    }

    impl From<NoAnswer> for Failed {
        fn from(NoAnswer(limit): NoAnswer) -> Self {
            Self::Waited(limit)
        }
    }

    #[tokio::test]
    async fn a_request_without_an_answer_ends_at_its_limit() {
        let limit = Duration::from_millis(1);
        let ended = in_time::<(), Failed>(limit, std::future::pending()).await;
        assert_eq!(ended, Err(Failed::Waited(limit)));
    }

    #[tokio::test]
    async fn the_answer_and_the_error_of_a_request_pass() {
        let limit = Duration::from_secs(600);
        let answer = in_time::<_, Failed>(limit, async { Ok(1) }).await;
        assert_eq!(answer, Ok(1));
        let error = async { Err(kube::Error::LinesCodecMaxLineLengthExceeded) };
        assert_eq!(in_time::<(), _>(limit, error).await, Err(Failed::Asked));
    }
}
