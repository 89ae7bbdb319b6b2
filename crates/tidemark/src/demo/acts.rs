//! The acts.

use super::cluster::Cluster;
use super::timeline::Timeline;

/// The partition of the cause, whose link is cut, and that of the effect.
const CAUSE: u16 = 0;
const EFFECT: u16 = 1;

/// Alice uploads a photo and adds it to her album; Bob looks at the album elsewhere (000 §1).
pub(crate) fn photo_album(cluster: &Cluster) -> anyhow::Result<bool> {
    let line = Timeline::begin(
        "The photo album",
        "Alice, in A, uploads a photo and then adds it to her album. Bob looks at the album in B.",
    );
    let (photo, album) = (cluster.key("photo", CAUSE), cluster.key("album", EFFECT));
    let (mut alice, mut bob) = (cluster.client(0)?, cluster.client(1)?);
    cut(cluster, &line)?;
    alice.set(&photo, "a beach at dusk")?;
    line.event("Alice", &format!("SET {photo} \"a beach at dusk\""));
    alice.set(&album, &photo)?;
    line.event("Alice", &format!("SET {album} \"{photo}\""));
    cluster.await_arrival(EFFECT)?;
    line.event("B", "the album has arrived, the photo has not");
    let listed = bob.get(&album)?;
    line.event("Bob", &format!("GET {album} → {}", shown(&listed)));
    let seen = bob.get(&photo)?;
    line.event("Bob", &format!("GET {photo} → {}", shown(&seen)));
    let anomaly = listed.is_some() && seen.is_none();
    line.verdict(
        anomaly,
        if anomaly { "the album lists a photo that is not there" } else { "nothing is missing" },
    );
    heal(cluster, &line)?;
    cluster.until("the album does not appear", || {
        Ok(bob.get(&album)?.is_some() && bob.get(&photo)?.is_some())
    })?;
    line.event("Bob", "sees the album and the photo in it");
    Ok(anomaly)
}

/// Alice blocks Bob and then changes her picture; the page that Bob loads reads both (000 §2.4).
pub(crate) fn profile_picture(cluster: &Cluster) -> anyhow::Result<bool> {
    let line = Timeline::begin(
        "The profile picture",
        "Alice, in A, blocks Bob and then changes her picture. Bob loads her page in B: its MGET is one snapshot.",
    );
    let (access, picture) = (cluster.key("bob:access", CAUSE), cluster.key("picture", EFFECT));
    let (mut alice, mut bob) = (cluster.client(0)?, cluster.client(1)?);
    alice.set(&access, "allowed")?;
    alice.set(&picture, "old")?;
    let both = [access.as_str(), picture.as_str()];
    cluster.until("Alice's page does not appear", || Ok(bob.mget(&both)?.iter().all(Option::is_some)))?;
    line.event("Bob", &format!("MGET {access} {picture} → allowed, old"));
    cut(cluster, &line)?;
    alice.set(&access, "blocked")?;
    line.event("Alice", &format!("SET {access} blocked"));
    alice.set(&picture, "new")?;
    line.event("Alice", &format!("SET {picture} new"));
    cluster.await_arrival(EFFECT)?;
    line.event("B", "the new picture has arrived, the block has not");
    let page = bob.mget(&both)?;
    line.event("Bob", &format!("MGET {access} {picture} → {}, {}", shown(&page[0]), shown(&page[1])));
    let is = |value: &Option<String>, text: &str| value.as_deref() == Some(text);
    let anomaly = is(&page[0], "allowed") && is(&page[1], "new");
    let meaning =
        if anomaly { "Bob is shown a picture that was hidden from him" } else { "Alice's wish is kept" };
    line.verdict(anomaly, meaning);
    heal(cluster, &line)?;
    cluster.until("the block does not arrive", || {
        let page = bob.mget(&both)?;
        Ok(is(&page[0], "blocked") && is(&page[1], "new"))
    })?;
    line.event("Bob", &format!("MGET {access} {picture} → blocked, new"));
    Ok(anomaly)
}

fn cut(cluster: &Cluster, line: &Timeline) -> anyhow::Result<()> {
    cluster.cut(CAUSE)?;
    line.event("network", &format!("the link of partition {CAUSE} between A and B is cut"));
    Ok(())
}

fn heal(cluster: &Cluster, line: &Timeline) -> anyhow::Result<()> {
    cluster.heal()?;
    line.event("network", "the link is healed");
    Ok(())
}

fn shown(value: &Option<String>) -> String {
    value.as_ref().map_or("(nothing)".into(), |value| format!("\"{value}\""))
}
