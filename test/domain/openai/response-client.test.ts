/** The official client, which assembles our events to the same response that we return. */
import { ResponseStream as ClientStream } from "openai/lib/responses/ResponseStream";
import { expect, test } from "vitest";
import type { LogEntry } from "../../../src/domain/openai/translation.ts";
import type { Json } from "../../../src/protocol/common.ts";
import { delta, done, failed, logOf, tell } from "./response-log.ts";

/** Assembles the events like the client does with a stream from another machine: one line for each. */
async function put(log: LogEntry[]) {
  const { events, resource } = tell(log);
  const lines = events.map((event) => `${JSON.stringify(event)}\n`).join("");
  const stream = ClientStream.fromReadableStream(new Blob([lines]).stream());
  const seen: string[] = [];
  stream.on("event", ({ type }) => seen.push(type));
  const response = await stream.finalResponse();
  expect(seen).toEqual(events.map(({ type }) => type));
  return { response, resource };
}

const call = (index: number, id: string, args: string) =>
  delta({ tool_calls: [{ index, id, function: { name: "sum", arguments: args } }] });

const EVERYTHING = [
  delta({ reasoning_content: "Let me see." }),
  delta({ content: "Fo" }),
  delta({ content: "ur." }),
  delta({ refusal: "No more." }),
  call(0, "call_a", '{"a":'),
  call(1, "call_b", "{}"),
  call(0, "call_a", "1}"),
];

test.each([
  ["completed", done()],
  ["failed", failed("gone")],
])(
  "the client assembles reasoning, text, a refusal and calls in turns, and then %s",
  async (status, end) => {
    const { response, resource } = await put(logOf(EVERYTHING, end));
    expect(response.status).toBe(status);
    expect(response.output).toMatchObject(resource.output);
    expect(response.output_text).toBe("Four.");
  },
);

test("the client assembles an incomplete response", async () => {
  const { response } = await put(logOf([delta({ content: "Once" }, "length")]));
  expect(response).toMatchObject({ status: "incomplete", output_text: "Once" });
});

test("the client assembles the output that came before a cancel", async () => {
  const { response } = await put(logOf([delta({ content: "Once" })], done({ status: "canceled" })));
  expect(response).toMatchObject({ status: "in_progress", output_text: "Once" });
});

test("the client assembles a container's own events, and a whole answer in one event", async () => {
  const item = {
    id: "msg_1",
    type: "message",
    content: [{ type: "output_text", text: "Four.", annotations: [] }],
  };
  const own = { id: "resp_theirs", object: "response", status: "completed", output: [item] };
  const answers: Json[][] = [
    [own],
    [
      { type: "response.created", response: own },
      { type: "response.output_item.added", item: { ...item, content: [] } },
      { type: "response.output_text.delta", item_id: "msg_1", delta: "Four." },
      { type: "response.completed", response: own },
    ],
  ];
  for (const outputs of answers) {
    const { response, resource } = await put(logOf(outputs));
    expect(response).toMatchObject({ id: resource.id, output_text: "Four." });
    expect(response.output).toMatchObject(resource.output);
  }
});
