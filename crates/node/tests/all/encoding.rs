//! What stands on connections and in tokens, byte for byte: nodes of one cluster may run different versions of Tidemark.
//! Whoever has to change a line here changes `frame::VERSION`, or the prefix of tokens, too.

use tidemark_contract::stabilised::Peer;
use tidemark_contract::{AskId, Report, Ticket, Tree, Version};
use tidemark_core::{
    DcId, Failure, Found, Hlc, Key, Outcome, PartitionId, ServerId, Stamp, Update, Vector, Write,
};
use tidemark_node::founding::Standing;
use tidemark_node::link::frame::{FrameBuffer, frame};
use tidemark_node::link::hello::{Epoch, Hello, LinkKind, Speaker, Welcome};
use tidemark_node::link::message::Message;
use tidemark_node::link::stream::{Cause, Reason, Request as StreamRequest, Supply};
use tidemark_node::{ClusterLayout, NodeId, token};
use tidemark_protocols::eventual::{Reply, Request};
use tidemark_protocols::{Eventual, Tidemark};
use tidemark_replica::{Resume, StreamItem, StreamRefusal};

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn key() -> Key {
    Key(b"k".as_slice().into())
}

fn value() -> std::sync::Arc<[u8]> {
    b"value".as_slice().into()
}

const STAMP: Stamp = Stamp { ts: Hlc(1_000_000), origin: DcId(1), seq: 0 };
const PARTITION: PartitionId = PartitionId(1);
const TICKET: Ticket = Ticket { node: 1, session: 300, ask: AskId(9) };

fn speaker() -> Speaker {
    Speaker {
        start: 77,
        serves: Some(Epoch { incarnation: 500, number: 3 }),
        standing: Standing { member: 258, joins: true, founded_with_you: false },
    }
}

#[test]
fn the_handshake() {
    let mut cluster = ClusterLayout::single("causal", 2);
    cluster.name = "paris".into();
    cluster.nodes.push(cluster.nodes[0].clone());
    let nodes = (NodeId(0), NodeId(1));
    let hello = |kind| hex(&frame(&Hello::new(&cluster, Some("s"), "causal", nodes, speaker(), kind)));
    assert_eq!(
        hello(LinkKind::Messages),
        "260000000c36640343ee85748c05706172697301730663617573616c010200000001c9c08fb40100014d01f4\
        03038202010000"
    );
    assert_eq!(
        hello(LinkKind::Stream),
        "260000000ca05404345eac14b105706172697301730663617573616c010200000001c9c08fb40100014d01f4\
        03038202010001"
    );
    assert_eq!(
        hello(LinkKind::Raft),
        "260000000c1a050dad8ed6b4f605706172697301730663617573616c010200000001c9c08fb40100014d01f4\
        03038202010002"
    );
    assert_eq!(
        hello(LinkKind::Copy),
        "260000000c8c350ada3effd4cb05706172697301730663617573616c010200000001c9c08fb40100014d01f4\
        03038202010003"
    );
    assert_eq!(
        hex(&frame(&Welcome::Accepted(speaker()))),
        "0a0000000c9301370c53bb5181004d01f4030\
        382020100"
    );
    assert_eq!(hex(&frame(&Welcome::Refused("no".into()))), "040000000cf7560fbcd737da4801026e6f");
}

#[test]
fn messages() {
    let say = |message: Message<Eventual>| hex(&frame(&message));
    let (to, from) = (PARTITION, ServerId::new(DcId(1), PARTITION));
    let put = Request::Put(key(), Update::put(Write::Assign(value())));
    let ask = Message::Ask { ticket: TICKET, to, writes: Some(6), request: put };
    assert_eq!(say(ask), "150000000c4f175f891079f7b60001ac020901010601016b000576616c7565000000");
    let got = Reply::Got(Found::new(Some(STAMP), Some(value())));
    let answer = Message::Answer { ticket: TICKET, from, reply: got };
    assert_eq!(say(answer), "160000000c36b1771442ca5b970101ac020901010001c0843d0100010576616c756500");
    let written = Reply::Put(Outcome::Written { stamp: Some(STAMP), previous: None });
    let answer = Message::Answer { ticket: TICKET, from, reply: written };
    assert_eq!(say(answer), "100000000cdb61d867bd9f4ead0101ac02090101010101c0843d010000");
    let refusal = Message::Refusal { ticket: TICKET, failure: Failure::ClockSkew { ahead_us: 5 } };
    assert_eq!(say(refusal), "070000000caf59d1b8ea47646c0201ac02090105");
    let returned = Message::Returned { ticket: TICKET, to, writes: None, request: Request::Get(key()) };
    assert_eq!(say(returned), "0a0000000c35d5afac9cc39f0c0301ac0209010000016b");
    let vector = |a, b| Vector::from_entries([Hlc(a), Hlc(b)]);
    let message = Peer::Tree(Tree::Up(Report { stable: vector(1, 2), safe: vector(0, 1) }));
    let peer = Message::<Tidemark>::Peer { from, to: PartitionId(0), message };
    assert_eq!(hex(&frame(&peer)), "0c0000000c26edbdf87113a303040101000000020102020001");
    let broadcast = Message::Broadcast { content: b"hi".to_vec() };
    assert_eq!(say(broadcast), "040000000c13c3548c902f899505026869");
}

#[test]
fn replication_streams() {
    let server = ServerId::new(DcId(0), PARTITION);
    let open = StreamRequest::Open { server, resume: Resume { incarnation: 500, received: 7 }, takes: 9 };
    assert_eq!(hex(&frame(&open)), "070000000c04e7d39d31bcfc40000001f4030709");
    let (mut close, mut confirm) = (FrameBuffer::default(), FrameBuffer::default());
    close.push(&StreamRequest::Close { server });
    confirm.push(&StreamRequest::Confirm { server, seq: 8 });
    close.append(&mut confirm);
    assert_eq!(hex(&close.take()), "070000000c828cb2bb0caea76201000102000108");
    let held = |why| hex(&frame(&StreamRequest::Held { server, why }));
    let late = Reason { cause: Cause::Clock, what: "late".into() };
    assert_eq!(held(Some(late)), "0a0000000c16be8ed9dd776a560300010100046c617465");
    assert_eq!(held(None), "040000000cb341ea2a907ca07f03000100");
    let supply = |supply: Supply<Eventual>| hex(&frame(&supply));
    let opened = Supply::Opened { server, incarnation: 500 };
    assert_eq!(supply(opened), "050000000c29e8392e395df7c1000001f403");
    let refusal = StreamRefusal::LostLog { theirs: 9, mine: 7 };
    assert_eq!(supply(Supply::Refused { server, refusal }), "060000000c893b848d37d16a24010001000907");
    let version = Version { stamp: STAMP, meta: (), write: Write::Assign(value()) };
    let items = vec![
        StreamItem::Record { seq: 4, key: key(), version },
        StreamItem::Skipped { seq: 5, ts: Hlc(1_000_001) },
        StreamItem::Heartbeat { after_seq: 5, ts: Hlc(1_000_002) },
    ];
    assert_eq!(
        supply(Supply::Items { server, items }),
        "1e0000000c2b96578b0a1dc646020001030004016bc0843d0100000576616c75650105c1843d0305c2843d"
    );
}

#[test]
fn session_tokens() {
    let text = token::export("paris", "causal", 1_000_000, (STAMP, 7_u64));
    assert_eq!(text, "tm1.BXBhcmlzBmNhdXNhbMCEPcCEPQEAB3OXd3Q");
}
