/** A silent response over a WebSocket. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { eventually } from "../support/eventually.ts";
import { timersFollowClock } from "../support/hold-timers.ts";
import { ALL, finish, newOpenAi } from "../support/openai.ts";
import { advance, startClock, stopClock } from "../support/time.ts";

beforeEach(() => {
  stopClock();
  timersFollowClock();
});

afterEach(startClock);

const newSilent = () => newOpenAi({ compatibilities: { ...ALL, vendorb_messages: true } });

describe("a response that is silent", () => {
  test("a silent response repeats response.in_progress over a WebSocket as well", async () => {
    const { client, model, fleet } = await newSilent();
    const { webSocket } = await client.fetch("/v1/vendora/responses", {
      headers: { upgrade: "websocket" },
    });
    const types: string[] = [];
    webSocket?.addEventListener("message", ({ data }) => {
      types.push(z.object({ type: z.string() }).parse(JSON.parse(String(data))).type);
    });
    webSocket?.accept();
    webSocket?.send(JSON.stringify({ type: "response.create", model, input: "Go on" }));
    const { channel } = await fleet.work();
    // The clock moves on while messages are on their way: logs keep the lease, and more repeats than awaited may come.
    const told = (type: string, count: number) =>
      eventually(async () => {
        await channel.report([{ event: "logs", data: "loading\n" }]);
        // Longer steps would skip heartbeats, which come every 15 s, and shorter ones take a second in all.
        advance(5);
        expect(types.filter((one) => one === type).length).toBeGreaterThanOrEqual(count);
      });
    await told("response.created", 1);
    await told("response.in_progress", 2);
    await finish(channel, ["on"]);
    await eventually(() => expect(types.at(-1)).toBe("response.completed"));
    expect(types[0]).toBe("response.created");
    webSocket?.close();
  });
});
