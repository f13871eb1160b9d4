import Replicate, { type Prediction, validateWebhook } from "replicate";
import { beforeAll, describe, expect, it } from "vitest";
import { USERNAME } from "../support/access.ts";
import { receiver, world } from "../support/shared.ts";

const HELLO = `${USERNAME}/hello` as const;
const TEXT = `${USERNAME}/text-generation` as const;
const GATED = `${USERNAME}/gated` as const;
const ADA = { name: "Ada" };

let replicate: Replicate;

beforeAll(() => {
  const { url, token } = world.access;
  replicate = new Replicate({ auth: token, baseUrl: `${url}/replicate/v1` });
});

async function idOf(model: string): Promise<string> {
  const [owner = "", name = ""] = model.split("/");
  return (await replicate.models.get(owner, name)).latest_version?.id ?? "";
}

describe("Replicate's client", () => {
  describe("run", () => {
    it("run returns the output of a model, and of a version", async () => {
      expect(await replicate.run(HELLO, { input: ADA })).toBe("Hello, Ada!");
      const version = await idOf(HELLO);
      expect(await replicate.run(`${HELLO}:${version}`, { input: ADA })).toBe("Hello, Ada!");
      const poll = { mode: "poll" as const, interval: 50 };
      expect(await replicate.run(HELLO, { input: ADA, wait: poll })).toBe("Hello, Ada!");
    });
  });

  describe("stream", () => {
    it("stream yields the pieces of an output, and its end", async () => {
      const input = { prompt: "Alice was", max_tokens: 20, seed: 7 };
      const events = [];
      for await (const event of replicate.stream(TEXT, { input })) events.push(event);
      const pieces = events.filter(({ event }) => event === "output").map(({ data }) => data);
      expect(pieces.join("")).toBe([await replicate.run(TEXT, { input })].flat().join(""));
      expect(events.at(-1)).toMatchObject({ event: "done", data: "{}", id: expect.any(String) });
    });
  });

  describe("predictions", () => {
    it("predictions are created, read, listed, waited for, and canceled", async () => {
      const version = await idOf(HELLO);
      const made = await replicate.predictions.create({ version, input: ADA });
      expect(made).toMatchObject({ model: HELLO, version, input: ADA, source: "api" });
      const ended = await replicate.wait(made, { interval: 50 });
      expect(ended).toMatchObject({ id: made.id, status: "succeeded", output: "Hello, Ada!" });
      // Every response has a stream URL of its own, valid for a day from that second.
      const stream = expect.stringContaining(`/replicate/v1/streams/${made.id}?`);
      expect(await replicate.predictions.get(made.id)).toEqual({
        ...ended,
        urls: { ...ended.urls, stream },
      });
      const blocked = await replicate.predictions.create({ model: HELLO, input: ADA, wait: true });
      expect(blocked.status).toBe("succeeded");
      const ids: string[] = [];
      for await (const page of replicate.paginate(replicate.predictions.list))
        ids.push(...page.map((one) => one.id));
      expect(ids).toEqual(expect.arrayContaining([made.id, blocked.id]));
      const input = { before: ["a"], gate: "never", after: [] };
      const gated = await replicate.predictions.create({ model: GATED, input });
      await replicate.predictions.cancel(gated.id);
      expect((await replicate.wait(gated, { interval: 50 })).status).toBe("canceled");
    });
  });

  describe("webhooks", () => {
    it("a webhook is validated with the account's secret", async () => {
      const { id } = await replicate.predictions.create({
        model: HELLO,
        input: ADA,
        webhook: `${receiver.url}/hook`,
        webhook_events_filter: ["completed"],
      });
      const [hook] = await receiver.waitFor("/hook", 1);
      const body: Prediction = JSON.parse(hook?.body ?? "");
      expect(body).toMatchObject({ id, status: "succeeded", output: "Hello, Ada!" });
      const { key: secret } = await replicate.webhooks.default.secret.get();
      const signed = {
        id: hook?.headers["webhook-id"] ?? "",
        timestamp: hook?.headers["webhook-timestamp"] ?? "",
        signature: hook?.headers["webhook-signature"] ?? "",
        body: hook?.body ?? "",
        secret,
      };
      expect(await validateWebhook(signed)).toBe(true);
      expect(await validateWebhook({ ...signed, body: `${signed.body} ` })).toBe(false);
    });
  });
});
