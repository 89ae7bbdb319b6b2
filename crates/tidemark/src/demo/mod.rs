//! Two anomalies of the dissertation (000 §1 and §2.4), played on real clusters.
//!
//! Nothing here waits for a fixed time. The cause's partition is cut off between Alice's region and Bob's; the
//! effect's is not. The play goes on when the receiving region says that the effect has arrived, reads what Bob
//! then sees, mends the link, and reads again once the cause has arrived too.

mod acts;
mod client;
mod cluster;
mod timeline;

use cluster::Cluster;

/// Where a play takes place.
pub(crate) struct Stage {
    /// The protocol's name.
    pub(crate) protocol: String,
    /// The first of the ports that the cluster takes.
    pub(crate) base_port: u16,
}

/// How an act ended.
pub(crate) struct Verdict {
    protocol: String,
    act: &'static str,
    /// An effect was seen without its cause.
    pub(crate) anomaly: bool,
    /// The protocol promises that this cannot happen.
    pub(crate) promised: bool,
}

/// Plays both acts under one protocol.
pub(crate) fn play(stage: &Stage) -> anyhow::Result<Vec<Verdict>> {
    let cluster = Cluster::start(stage)?;
    let promised = cluster.promises_causality()?;
    println!("\n━━ {} ━━  {}", stage.protocol, cluster.promise()?);
    let verdict = |act, anomaly| Verdict { protocol: stage.protocol.clone(), act, anomaly, promised };
    Ok(vec![
        verdict("the photo album", acts::photo_album(&cluster)?),
        verdict("the profile picture", acts::profile_picture(&cluster)?),
    ])
}

/// Prints what came of it all.
pub(crate) fn conclude(verdicts: &[Verdict]) {
    println!();
    for Verdict { protocol, act, anomaly, promised } in verdicts {
        let what = match (anomaly, promised) {
            (true, true) => "seen without its cause, AGAINST ITS PROMISE",
            (true, false) => "an effect was seen without its cause",
            (false, _) => "no effect was seen without its cause",
        };
        println!("{protocol:<12} {act:<20} {what}");
    }
}
