/** Responses in the background: polled, resumed, cancelled. */
import { afterEach, describe, expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { answer, finish, newest, newOpenAi, put } from "../support/openai.ts";
import {
  eventsOf,
  newResponses,
  numbersOf,
  PATH,
  type Resource,
  refusal,
  resource,
  text,
  upTo,
} from "../support/openai-responses.ts";
import { passes, startClock, stopClock } from "../support/time.ts";

const { client, fleet, create, read } = await newResponses();

afterEach(startClock);

describe("a response in the background", () => {
  test("a response in the background exists at once, and can be polled while it grows", async () => {
    const queued = await resource(create({ background: true }), 202);
    expect(queued).toMatchObject({ status: "queued", background: true, output: [] });
    const { channel } = await fleet.work();
    await put(channel, "on");
    const growing = await read(queued.id);
    expect([growing.status, text(growing)]).toEqual(["in_progress", "on"]);
    await finish(channel, [" and", " on"]);
    const ended = await read(queued.id);
    expect([ended.status, text(ended)]).toEqual(["completed", "on and on"]);
  });

  test("a response in the background goes on without its reader, and can be resumed", async () => {
    const response = await create({ background: true, stream: true });
    const reader = response.body?.getReader();
    const first = new TextDecoder().decode((await reader?.read())?.value);
    expect(first).toContain("event: response.created");
    const [, id = ""] = /"id":"(resp_\w+)"/.exec(first) ?? [];
    await reader?.cancel();
    const { channel } = await fleet.work();
    const resumed = client.fetch(`${PATH}/${id}?stream=true&starting_after=0`);
    await finish(channel, ["on", " and on"]);
    const events = await eventsOf(await resumed);
    expect(events[0]).toMatchObject({ type: "response.queued", sequence_number: 1 });
    expect(numbersOf(events)).toEqual(upTo(events.length + 1).slice(1));
    expect(events.at(-1)?.type).toBe("response.completed");
  });

  test("a response in the background has no time limit but the version's own", async () => {
    stopClock();
    const world = await newOpenAi();
    const body = { model: world.model, input: "Go on", background: true };
    const { id } = await resource(world.client.post(PATH, body), 202);
    await passes(601, await newest(world.client));
    await answer(world.fleet, "on");
    const found = await world.client.json<Resource>("GET", `${PATH}/${id}`);
    expect(found.body.status).toBe("completed");
  });

  test("a response in the background is cancelled, and a second cancel has the same answer", async () => {
    const { id } = await resource(create({ background: true }), 202);
    const { channel } = await fleet.work();
    const cancelling = client.post(`${PATH}/${id}/cancel`, "");
    expect(await channel.next()).toMatchObject({ type: "cancel" });
    await channel.report([], { status: "canceled", output: "none" });
    const first = await resource(cancelling);
    expect(first.status).toBe("cancelled");
    expect(await resource(client.post(`${PATH}/${id}/cancel`, ""))).toEqual(first);
    const events = await eventsOf(await client.fetch(`${PATH}/${id}?stream=true`));
    expect(events.map(({ type }) => type).at(-1)).not.toMatch(/cancel|completed|failed/);
  });

  test("a response in the background cannot be cancelled when it has ended", async () => {
    const { id } = await resource(create({ background: true }), 202);
    await answer(fleet, "on");
    await eventually(async () => expect((await read(id)).status).toBe("completed"));
    const { status, message } = await refusal(client.post(`${PATH}/${id}/cancel`, ""));
    expect([status, message]).toEqual([400, expect.stringContaining("already ended")]);
  });
});
