/** Outputs of a remote call that wait to be stored: the memory of an object is small. */
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import type { LeaseHolder } from "../../../src/domain/predictions/lease.ts";
import { Outputs } from "../../../src/objects/remote/outputs.ts";
import { Reporter } from "../../../src/run/reporter.ts";

const LARGE = "x".repeat(300_000);

/** Outputs of a prediction that does not answer for now. */
function waiting() {
  const breaches: string[] = [];
  const reporter = new Reporter({
    limits: { output_bytes: 1_000_000, logs_bytes: 1_000 },
    onChange: () => {},
    onBreach: (message) => breaches.push(message),
  });
  const object_id = env.PREDICTION.newUniqueId().toString();
  const order = { object_id, key: undefined, spec: { call: null } };
  const holder: LeaseHolder = { lease: "", token_id: "remote", token_known_at: 0 };
  return { breaches, outputs: new Outputs(env, order, holder, reporter) };
}

test("large outputs count toward the limit before they are stored", async () => {
  const { breaches, outputs } = waiting();
  for (let n = 0; n < 4; n++) outputs.output(LARGE);
  expect(breaches).toEqual([expect.stringContaining("larger than the limit")]);
  await outputs.settle().catch(() => {});
});
