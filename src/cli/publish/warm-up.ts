/**
 * Waits until a runner has a version warm, by a trial prediction that is canceled as soon as its
 * container is ready. What is not known of a version before a first start, the runner tells at the end
 * of a run: that one is left alone.
 */
import { randomUUID } from "node:crypto";
import { messageOf } from "../../../runner/src/control-plane/error.ts";
import { exampleInput } from "../../domain/schemas/example-input.ts";
import { versionSchema } from "../../domain/schemas/version-schemas.ts";
import type { Version } from "../../protocol/model.ts";
import type { ServiceSession } from "../commands/session.ts";
import { Failure } from "../failure.ts";
import { followRun } from "../run/follow-run.ts";
import { cancelSoon } from "../service/cancel.ts";
import { follow } from "../service/events.ts";

/** @param reference `owner/name:3`. @throws Failure with why it did not start */
export async function warmUp(
  session: ServiceSession,
  reference: string,
  version: Version,
): Promise<void> {
  const { access, signal, display, onRetry } = session;
  const body = trialOf(reference, version);
  let id: string | undefined;
  let isReady = false;
  const events = follow({ access, signal, create: { body, key: randomUUID() }, onRetry });
  try {
    const done = await followRun({
      events,
      display,
      onCreated: (own) => {
        id = own;
      },
      onSetup: ({ phase }) => {
        if (phase !== "ready") return;
        isReady = true;
        if (version.status !== "ready") return;
        // What it would answer does not matter; a failure to cancel it neither.
        if (id !== undefined)
          cancelSoon(access, id).catch((error: unknown) => display.say(messageOf(error)));
      },
      onOutput: async () => {},
    });
    if (isReady || done.status === "succeeded") return;
    throw new Failure(
      `${reference} is published, but it did not start: ${done.error?.message ?? done.status}\nIts logs: auspex logs ${done.id}`,
    );
  } catch (error) {
    // Nobody waits for it any more.
    if (signal.aborted && id !== undefined) await cancelSoon(access, id).catch(() => {});
    throw error;
  }
}

/** Kept as long as any: of one that failed, its logs are looked at later. */
export const trialOf = (model: string, { schemas }: Pick<Version, "schemas">) => ({
  model,
  input: exampleInput(versionSchema(schemas, "input")),
  stream: true,
});
