// Images that do not do what their version says: whose fault it is, and the advice.
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { sized } from "../../support/sized.ts";
import { type Box, openBox } from "../support/containers.ts";
import { asking, CHAT, connect, FakeServer, json } from "../support/openai-server.ts";

let box: Box;
beforeAll(async () => {
  box = await openBox();
});
afterAll(async () => {
  await box.close();
  await vi.waitFor(() => expect(box.processes()).toEqual([]));
});

const demands: [string, { mode: string }, Record<string, string>, string][] = [
  ["of its setup", { mode: "pid" }, { SETUP: "locked" }, "/health-check with 401"],
  ["of a run", { mode: "locked" }, {}, "/predictions with 401"],
];
it.each(demands.slice(0, sized(1, demands.length)))(
  "a Cog server that demands a key %s causes advice to its publisher",
  async (_, input, variables, at) => {
    const { error } = await box.run("liar", input, { variables }).finish;
    expect(error?.source).toBe("external");
    expect(error?.message).toContain(`responded to ${at} instead of 200`);
    expect(error?.message).toContain("It requires an API key");
    expect(error?.message).toContain("Start it without one");
  },
);

it.each([401, 403])(
  "a OpenAI server that answers calls with %i causes advice that no caller's key is meant",
  async (status) => {
    const wrong = { error: { message: "Invalid API Key", type: "authentication_error" } };
    const server = await FakeServer.start({ [CHAT]: json(status, wrong) });
    const { run } = await connect(server);
    const { finish, inputRejected, notContainersFault } = await run("chat_completions", asking)
      .outcome;
    // Clients get a bad gateway, because a 401 would be about the token that they have sent.
    const detail = { status: 502, error: { type: "server_error" } };
    expect(finish).toMatchObject({ status: "failed", error: { source: "external", detail } });
    expect(finish.error?.message).toContain(`${CHAT} with ${status}`);
    expect(finish.error?.message).toContain("Start it without one");
    expect([inputRejected, notContainersFault]).toEqual([false, false]);
  },
);

it("a OpenAI server that demands a key for its health causes advice", async () => {
  const server = await FakeServer.start({ "/health": json(403, {}) });
  await expect(connect(server)).rejects.toMatchObject({
    source: "external",
    message: expect.stringContaining("It requires an API key"),
  });
});

it("a max_concurrency above the image's stated limit starts no run", async () => {
  const limits = { max_concurrency: 4 };
  const { finish } = box.run("liar", { mode: "pid" }, { variables: { SETUP: "single" }, limits });
  const { error } = await finish;
  expect(error?.source).toBe("external");
  expect(error?.message).toMatch(
    /^The image supports 1 concurrent runs, .* max_concurrency to 4\. Publish/,
  );
  const one = box.run("liar", { mode: "pid" }, { variables: { SETUP: "single" } });
  expect(await one.finish).toMatchObject({ status: "succeeded" });
});

it("a max_concurrency above the image's unstated limit fails the run with advice", async () => {
  const limits = { max_concurrency: 4 };
  const { error } = await box.run("liar", { mode: "full" }, { limits }).finish;
  expect(error?.source).toBe("external");
  expect(error?.message).toMatch(
    /^The image supports fewer concurrent runs, .* max_concurrency to 4/,
  );
});

const complaints = [
  ["0.16", "FatalWorkerException: max_concurrency > 1 requires an async predict function"],
  ["0.22", "setup failed: COG_MAX_CONCURRENCY > 1 requires an async run() or predict() method"],
];
it.each(complaints.slice(-sized(1, complaints.length)))(
  "a max_concurrency above the image's limit fails the setup by Cog %s with advice",
  async (_, said) => {
    const variables = { SETUP: "fail", SETUP_LOGS: `${said}\n` };
    const limits = { max_concurrency: 4 };
    const { error } = await box.run("liar", { mode: "pid" }, { variables, limits }).finish;
    expect(error?.source).toBe("external");
    expect(error?.message).toMatch(
      /^The image supports fewer concurrent runs, .* max_concurrency to 4/,
    );
    expect(error?.message).toContain(said);
    // A model without a higher max_concurrency has the same message for its own failure.
    const one = await box.run("liar", { mode: "pid" }, { variables }).finish;
    expect(one.error?.message).toMatch(/^The model's setup failed/);
  },
);
