/** Responses whose prediction object dies between showing and storing events, read with `starting_after`. */
import { abortAllDurableObjects } from "cloudflare:test";
import { afterEach, describe, expect, test } from "vitest";
import type { ReportedEvent } from "../../../src/protocol/event.ts";
import { newest } from "../support/openai.ts";
import { eventsOf, newResponses, PATH, resource } from "../support/openai-responses.ts";
import { passes, startClock, withoutTimers } from "../support/time.ts";
import { output } from "../support/unstored.ts";

const patient = await newResponses();
const hasty = await newResponses({
  configuration: { interface: "vendora", timeout_seconds: 20 },
});
const { client, fleet } = patient;

afterEach(startClock);

const READY: ReportedEvent = { event: "setup", data: { phase: "ready" } };
/** `LOST` has more events than an end has, so that the end's numbers could collide with its numbers. */
const LOST = [..."bcdefg"].map(output);

type Event = Awaited<ReturnType<typeof eventsOf>>[number] & { delta?: string };

/** Reads a stream until its delta `last`, and returns its events so far. */
async function until(response: Response, last: string): Promise<Event[]> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  while (!text.includes(`"delta":"${last}"`)) text += (await reader?.read())?.value ?? "";
  await reader?.cancel();
  return eventsOf(new Response(text, { headers: response.headers }));
}

/**
 * Interrupts a response whose event `a` was stored, and whose `LOST` events were only shown: to a reader
 * that stays, and to one that resumes.
 */
async function interrupted({ client, fleet, create } = patient) {
  const { id } = await resource(create({ background: true }), 202);
  const prediction = await newest(client);
  return withoutTimers(async () => {
    const job = await fleet.take();
    const channel = await fleet.connect(job);
    const read = () => client.fetch(`${PATH}/${id}?stream=true`);
    const [stays, leaves] = [await read(), await read()];
    const live = eventsOf(stays);
    await channel.report([READY, output("a")]);
    for (const event of LOST) channel.push([event]);
    const seen = await until(leaves, "g");
    await abortAllDurableObjects();
    const resume = async () => {
      const path = `${PATH}/${id}?stream=true&starting_after=${seen.at(-1)?.sequence_number}`;
      seen.push(...(await eventsOf(await client.fetch(path))));
    };
    return { id, prediction, job, seen, resume, live, read };
  });
}

/** Checks that numbers rise. A repeated `response.in_progress` has the number of the event before it. */
function expectRising(seen: Event[]) {
  const numbers = seen
    .filter(({ type }, n) => n < 3 || type !== "response.in_progress")
    .map((event) => event.sequence_number);
  expect(numbers).toEqual([...new Set(numbers)].toSorted((a, b) => a - b));
}

const textOf = (seen: Event[]) => seen.map(({ delta = "" }) => delta).join("");

describe("a response whose object dies between showing and storing", () => {
  test("readers see each event once when the runner comes back", async () => {
    const { job, seen, resume, live, read } = await interrupted();
    const reading = resume();
    const channel = await fleet.connect(job);
    for (const event of LOST) channel.push([event]);
    await channel.report([output("h")], { status: "succeeded", output: "items" });
    await reading;
    expect(textOf(seen)).toBe("abcdefgh");
    expectRising(seen);
    const replay = await eventsOf(await read());
    expect([seen, await live]).toEqual([replay, replay]);
    expect(replay.at(-1)).toMatchObject({ type: "response.completed" });
  });

  test.each([
    ["the runner is dead", patient, [31, 11]],
    ["the time is over", hasty, [21]],
  ])("readers that saw lost events see the end when %s", async (_, world, pauses) => {
    const { prediction, seen, resume, live, read } = await interrupted(world);
    const reading = resume();
    for (const seconds of pauses) await passes(seconds, prediction);
    await reading;
    expect(textOf(seen)).toBe("abcdefg");
    expectRising(seen);
    expect(seen.at(-1)).toMatchObject({ type: "response.failed" });
    const replay = await eventsOf(await read());
    expect(textOf(replay)).toBe("a");
    const ends = [seen, await live, replay].map((events) => events.at(-1)?.sequence_number);
    expect(new Set(ends).size).toBe(1);
  });

  test("a stream ends when the response is cancelled and its runner is dead", async () => {
    const { id, prediction, seen, resume, live } = await interrupted();
    const reading = resume();
    expect(await client.cancel(prediction)).toBe(202);
    await passes(31, prediction);
    await passes(11, prediction);
    await reading;
    expect(await patient.read(id)).toMatchObject({ status: "cancelled" });
    expect([textOf(seen), textOf(await live)]).toEqual(["abcdefg", "abcdefg"]);
    expectRising(seen);
  });
});
