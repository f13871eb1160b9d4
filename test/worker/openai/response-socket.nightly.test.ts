/** Long messages on the sockets of an account. */
import { expect, test } from "vitest";
import { put } from "../support/openai.ts";
import { newResponses } from "../support/openai-responses.ts";
import { connectTo } from "../support/response-socket.ts";

const { client, fleet, model } = await newResponses();

const connected = () => connectTo({ client, model });

test("all sockets of an account together hold only one message of 7 MiB", async () => {
  const [first, second] = [await connected(), await connected()];
  const large = { input: "x".repeat(7 * 1024 * 1024) };
  first.create(large);
  const { channel } = await fleet.work();
  second.create(large);
  await second.until("error");
  expect(second.messages).toMatchObject([{ status: 503, error: { code: "server_error" } }]);
  await put(channel, "on");
  await first.until("response.output_text.delta");
  // The first message is no longer held once its answer has begun.
  second.create(large);
  await fleet.work();
  expect(second.messages).toHaveLength(1);
  for (const { webSocket } of [first, second]) webSocket.close();
});
