//! A session of ACCF: Algorithm 7.1.

use super::Accf;
use super::rules::READS_ARE_DEPENDENCIES;
use serde::{Deserialize, Serialize};
use tidemark_contract::core::{DcId, Failure, Micros, Op, Outcome, ServerId};
use tidemark_contract::grouping::Checking;
use tidemark_contract::grouping::tracked::Tracked;
use tidemark_contract::{Answer, AskId, Session, SessionCx, Token};

/// What a session asks: what it depends on, and which checking groups may answer (D6).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Request(pub Op, pub Tracked, pub Checking);

/// What a server answers: with a version its ds; with a write ⟨T(i), ut⟩. And how long what was asked has waited, in microseconds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Reply(pub Answer<Tracked>, pub Micros);

impl From<Answer<Tracked>> for Reply {
    fn from(answer: Answer<Tracked>) -> Self {
        Self(answer, 0)
    }
}

impl From<Failure> for Reply {
    fn from(failure: Failure) -> Self {
        Self(failure.into(), 0)
    }
}

/// A session.
pub struct Client {
    token: Token<Tracked>,
}

impl Session<Accf> for Client {
    type Token = Token<Tracked>;

    fn open(home: DcId) -> Self {
        Self { token: Token { home, past: Tracked::default() } }
    }

    /// Lines 2, 3, 8 and 9.
    fn begin(&mut self, op: Op, cx: &mut SessionCx<'_, Accf>) {
        if let Some(server) = cx.begin(&op) {
            let request = Request(op, self.token.past.clone(), cx.checking.clone());
            cx.ask(server, request);
        }
    }

    /// Lines 5 and 11.
    fn on_reply(
        &mut self,
        _: AskId,
        _: ServerId,
        Reply(Answer(outcome, ds), _): Reply,
        cx: &mut SessionCx<'_, Accf>,
    ) {
        if READS_ARE_DEPENDENCIES.kept() || matches!(outcome, Outcome::Written { .. }) {
            self.token.past.follow(&ds); // D11
        }
        cx.done(outcome);
    }

    fn token(&self) -> Token<Tracked> {
        self.token.clone()
    }

    /// D9.
    fn adopt(&mut self, token: Token<Tracked>, cx: &mut SessionCx<'_, Accf>) {
        self.token.past.follow(&token.past);
        cx.done(Outcome::Adopted);
    }
}
