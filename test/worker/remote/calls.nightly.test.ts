/** Answers of remote hosts that are too large for a log. */
import { describe, expect, test } from "vitest";
import { completion, newRemoteWorld } from "../support/remote.ts";

type RemoteWorld = Awaited<ReturnType<typeof newRemoteWorld>>;

const CHAT = { messages: [{ role: "user", content: "Hi" }] };

/** Runs a prediction to its end. */
const run = async ({ client, model }: RemoteWorld, input: object = CHAT) =>
  (await client.create({ model, input }, { prefer: "wait=20" })).body;

describe("a host with OpenAI's API", () => {
  test("an output that is too large for the log is stored", async () => {
    const world = await newRemoteWorld();
    const text = "x".repeat(700_000);
    await world.answers(completion(text));
    const { output } = await run(world);
    expect(output).toMatchObject({ choices: [{ message: { content: text } }] });
  });
});
