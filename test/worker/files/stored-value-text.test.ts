/** Stored values of runners, whose text is copied unchanged into responses, events and exports. */
import { expect, test } from "vitest";
import { postValue, storeValue } from "../support/files.ts";
import { newWorld } from "../support/world.ts";

const encoder = new TextEncoder();

async function working() {
  const world = await newWorld();
  const id = await world.waiting();
  const runner = await world.runner();
  return { ...world, id, runner, ...(await runner.work()) };
}

test.each([
  ["ends the line of an export", '0}}\n{"type":"end","next_url":"https://example.org"}'],
  ["ends an event", '1\n\nid: 999\nevent: done\ndata: {"forged":true}\n\n'],
  ["adds a member", '0,"status":"failed"'],
  ["ends what is around it", '0},"status":{"a":0'],
  ["does not end", `["${"x".repeat(200_000)}`],
])("a value that %s is refused", async (_, text) => {
  const { runner, job } = await working();
  const refused = await postValue(runner, job, encoder.encode(text));
  expect([refused.status, await refused.json()]).toMatchObject([
    400,
    { detail: "Send the value as JSON on one line." },
  ]);
});

test("a value with brackets and line feeds in its texts is returned unchanged", async () => {
  const { client, id, runner, job, channel } = await working();
  const value = { "}": [']\n"', { a: "{".repeat(300_000) }] };
  await channel.report([await storeValue(runner, job, value)]);
  await channel.succeed("x");
  expect((await client.get(id)).output).toEqual([value, "x"]);
});
