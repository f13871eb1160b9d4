/** Predictions that are waited for or polled: greetings, sums, and large ones. */
import type { MadeCall } from "../history.ts";
import type { Call, Work } from "../plan/calls.ts";
import { attend } from "./attend.ts";
import { create } from "./create.ts";
import type { Ground } from "./ground.ts";

type Plain = Extract<Work, { kind: "hello" | "sums" | "large" }>;

export async function callPlain(ground: Ground, made: MadeCall, work: Plain): Promise<void> {
  const { model, input } = askedOf(made.call, work);
  await createAndAttend(
    ground,
    made,
    { model: ground.modelOf(made.call, model), input },
    preferOf(work),
  );
}

/** Creates predictions and attends each ID once: answers with one key name the same prediction. */
export async function createAndAttend(
  ground: Ground,
  made: MadeCall,
  body: object,
  prefer?: string,
): Promise<void> {
  const answers = await create(ground, made, {
    path: "/predictions",
    body,
    ...(prefer && { prefer }),
    idIn: ({ status, text, askedAt }) =>
      status === 200 || status === 202
        ? ground.recorder.sighting("create", askedAt, text).id
        : undefined,
  });
  if (answers.length > 0) await attendAll(ground, made);
}

export async function attendAll(ground: Ground, made: MadeCall): Promise<void> {
  const ids = new Set(made.accepted.map(({ id }) => id));
  await Promise.all([...ids].map((id) => attend(ground, made, id)));
}

function preferOf(work: Plain): string | undefined {
  if (!("wait" in work) || work.wait === 0) return undefined;
  const cancels = work.kind === "sums" && work.cancels;
  return `wait=${work.wait}${cancels ? ", cancel" : ""}`;
}

function askedOf({ mark }: Call, work: Plain): { model: string; input: object } {
  switch (work.kind) {
    case "hello":
      return { model: "hello", input: { name: mark } };
    case "sums": {
      const { numbers, seconds } = work;
      return { model: "sums", input: { numbers, mode: "slow", seconds, mark } };
    }
    case "large":
      return {
        model: "ample",
        input: { size: work.letters, mark, padding: "p".repeat(work.padding) },
      };
  }
}
