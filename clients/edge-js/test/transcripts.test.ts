// Golden transcripts of the Rust client.

import assert from "node:assert/strict";
import test from "node:test";
import { lines, transcripts } from "./fixtures.js";
import { Player } from "./player.js";

for (const name of transcripts()) {
  test(name, () => {
    let player: Player | undefined;
    let steps = 0;
    for (const line of lines(name)) {
      if (line.about) continue;
      if (line.start) player = new Player(line.start);
      else {
        player!.play(line);
        steps++;
      }
    }
    assert.ok(steps > 0);
  });
}

test("there are transcripts", () => {
  assert.ok(transcripts().length >= 10);
});
