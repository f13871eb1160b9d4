/** The other calls of the official client, refusals, and calls that time out. */
import OpenAI from "openai";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { USERNAME } from "./support/access.ts";
import { endOf } from "./support/end.ts";
import {
  asks,
  openAiOf,
  predictionIn,
  type Script,
  type Setup,
  tallyOf,
  told,
} from "./support/openai.ts";
import { World } from "./support/world.ts";

const ORACLE = `${USERNAME}/oracle`;
/** Longer than a container takes to start beside another file of journeys. */
const TIMEOUT_SECONDS = 6;

let world: World;
let setup: Setup;
let openai: OpenAI;

beforeAll(async () => {
  world = await World.open({ variables: { VENDORA_TIMEOUT_SECONDS: String(TIMEOUT_SECONDS) } });
  await world.runner("one", { slots: 16 });
  setup = openAiOf(world.access);
  openai = setup.openai;
});
afterEach(() => setup.wire.settle());
afterAll(() => world.close());

/** Returns the error that a call is refused with, and how often the client has tried. */
async function refusal(call: () => PromiseLike<unknown>) {
  const before = setup.wire.exchanges.length;
  const error = await Promise.resolve(call()).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof OpenAI.APIError)) throw new Error(`no refusal: ${error}`);
  expect(error.requestID).toBe(setup.wire.last.headers.get("x-request-id"));
  return { error, tries: setup.wire.exchanges.length - before };
}

const chat = (script: Script, model = ORACLE) =>
  openai.chat.completions.create({ model, messages: asks(script) });

describe("embeddings", () => {
  const embed = async (
    input: OpenAI.EmbeddingCreateParams["input"],
    rest: Partial<OpenAI.EmbeddingCreateParams> = {},
  ) =>
    (await openai.embeddings.create({ model: ORACLE, input, ...rest })).data.map(
      (one) => one.embedding,
    );

  it("embeddings are the same in either format, and the same for one text as for many", async () => {
    const plain = await embed(["rain", "sun"]);
    expect(setup.wire.last.text).toMatch(/"embedding":"/);
    expect(await embed(["rain", "sun"], { encoding_format: "float" })).toEqual(plain);
    expect(setup.wire.last.text).toMatch(/"embedding":\[/);
    expect(await embed("sun")).toEqual(plain.slice(1));
    expect(plain[0]).toHaveLength(8);
    expect(plain[0]).not.toEqual(plain[1]);
  });

  it("embeddings of tokens work, too, and have the dimensions that were asked for", async () => {
    const [one] = await embed([5, 6, 7], { dimensions: 3 });
    expect(one).toHaveLength(3);
    expect(await embed([[5, 6, 7], [8]], { dimensions: 3 })).toEqual([one, expect.anything()]);
    const { metrics } = await world.get(predictionIn(setup.wire.last));
    expect(metrics).toMatchObject({ input_tokens: 4, output_tokens: 0 });
  });

  it("embeddings are in base64 from a container that only returns numbers", async () => {
    const text = told({ floats: true });
    expect(await embed(text)).toEqual(await embed(text, { encoding_format: "float" }));
  });
});

describe("completions", () => {
  const asked = { model: ORACLE, prompt: told({ say: ["It", " rains"] }) };
  const usage = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 };

  it("completions are whole or streamed, with usage, of one prompt or of several", async () => {
    const { choices, ...rest } = await openai.completions.create({ ...asked, logprobs: 1 });
    expect(rest).toMatchObject({ object: "text_completion", model: ORACLE, usage });
    expect(choices).toMatchObject([
      { text: "It rains", finish_reason: "stop", logprobs: { tokens: ["It", " rains"] } },
    ]);
    const stream_options = { include_usage: true };
    const prompt = [asked.prompt, asked.prompt];
    const stream = await openai.completions.create({
      ...{ ...asked, prompt, stream_options },
      stream: true,
    });
    const chunks = await Array.fromAsync(stream);
    expect(chunks.at(-1)?.usage).toMatchObject({ prompt_tokens: 2, completion_tokens: 4 });
    const texts = [0, 1].map((index) =>
      chunks.flatMap((one) => one.choices.filter((choice) => choice.index === index)),
    );
    for (const pieces of texts) expect(pieces.map(({ text }) => text).join("")).toBe("It rains");
    const { metrics } = await world.get(predictionIn(setup.wire.last));
    expect(metrics).toMatchObject({ input_tokens: 2, output_tokens: 4 });
  });

  it("completions stop when their caller leaves", async () => {
    const leaving = new AbortController();
    const prompt = told({ say: ["a"], end: "hang", mark: "left completion" });
    const { signal } = leaving;
    const stream = await openai.completions.create(
      { model: ORACLE, prompt, stream: true },
      { signal },
    );
    for await (const _ of stream) break;
    leaving.abort();
    const id = predictionIn(setup.wire.last);
    await endOf(world, world.watch(id), "canceled");
    expect(await tallyOf(setup, ORACLE, "left completion")).toMatchObject({ asked: 1, left: 1 });
  });
});

it("a moderation takes one text or several", async () => {
  const moderated = async (input: string | string[]) =>
    (await openai.moderations.create({ model: ORACLE, input })).results.map((one) => one.flagged);
  expect(await moderated("do no harm")).toEqual([true]);
  expect(await moderated(["rain", "harm"])).toEqual([false, true]);
});

it("documents are ranked for clients that have no such call", async () => {
  const documents = ["a timetable", "the tea of the Hatter", "tea"];
  const body = { model: ORACLE, query: "the tea", documents, top_n: 2 };
  expect(await openai.post("/rerank", { body })).toMatchObject({
    model: ORACLE,
    results: [
      { index: 1, relevance_score: 3, document: { text: documents[1] } },
      { index: 2, relevance_score: 1 },
    ],
    usage: { total_tokens: 10 },
  });
  const { metrics } = await world.get(predictionIn(setup.wire.last));
  expect(metrics).toMatchObject({ input_tokens: 10, output_tokens: 0 });
});

describe("the examples", () => {
  const key = [{ role: "user" as const, content: "Where is the golden key?" }];

  it("the example models write the same under the same seed, streamed and plain", async () => {
    const asked = { model: `${USERNAME}/chat`, messages: key, seed: 3, max_tokens: 20 };
    const plain = await openai.chat.completions.create(asked);
    const streamed = await openai.chat.completions.stream(asked).finalChatCompletion();
    const texts = [plain, streamed].map(({ choices }) => choices[0]?.message.content);
    expect(texts[0]).toMatch(/\w/);
    expect(texts[1]).toBe(texts[0]);
    const other = await openai.chat.completions.create({
      ...asked,
      model: `${USERNAME}/scribe-cog`,
    });
    expect(other.choices[0]?.message.content).toBe(texts[0]);
  });

  it("the example embeddings are near for similar texts", async () => {
    const input = ["The cat drinks milk", "A kitten laps up cream", "The train leaves at nine"];
    const { data } = await openai.embeddings.create({ model: `${USERNAME}/embeddings`, input });
    const [cat = [], kitten = [], train = []] = data.map(({ embedding }) => embedding);
    const nearness = (a: number[], b: number[]) =>
      a.reduce((sum, x, n) => sum + x * (b[n] ?? 0), 0);
    expect(nearness(cat, cat)).toBeCloseTo(1, 4);
    expect(nearness(cat, kitten)).toBeGreaterThan(nearness(cat, train));
  });
});

it("models are listed, and read by their names, blanks and slashes escaped", async () => {
  const listed: OpenAI.Model[] = [];
  for await (const model of openai.models.list()) listed.push(model);
  const ids = listed.map(({ id }) => id);
  expect(ids).toEqual(expect.arrayContaining([ORACLE, `${USERNAME}/reciter`]));
  expect(ids).not.toContain(`${USERNAME}/hello`);
  const model = await openai.models.retrieve(ORACLE);
  expect(model).toMatchObject({ id: ORACLE, owned_by: USERNAME });
  expect(listed).toContainEqual(expect.objectContaining({ id: ORACLE, created: model.created }));
  const { error } = await refusal(() => openai.models.retrieve("nobody/nothing"));
  expect(error).toBeInstanceOf(OpenAI.NotFoundError);
});

describe("a refusal", () => {
  it("a bad token is refused before anything else", async () => {
    const { openai: stranger, wire } = openAiOf({ ...world.access, token: "aus_wrong" });
    const asked = stranger.chat.completions.create({ model: "no/such", messages: [] });
    await expect(asked).rejects.toBeInstanceOf(OpenAI.AuthenticationError);
    await expect(asked).rejects.toMatchObject({ code: "invalid_api_key" });
    await wire.settle();
  });

  it("a model that does not exist is refused before the messages are checked", async () => {
    for (const call of [
      () => openai.chat.completions.create({ model: `${USERNAME}/none`, messages: [] }),
      () => openai.responses.create({ model: `${USERNAME}/none`, input: "x" }),
      () => openai.embeddings.create({ model: `${USERNAME}/none`, input: "x" }),
    ]) {
      const { error, tries } = await refusal(call);
      expect(error).toBeInstanceOf(OpenAI.NotFoundError);
      expect(error).toMatchObject({ code: "model_not_found", type: "invalid_request_error" });
      expect(tries).toBe(1);
    }
  });

  it("a version without the compatibility is refused, and the message says so", async () => {
    const { error } = await refusal(() => chat({}, `${USERNAME}/oracle-native`));
    expect(error).toBeInstanceOf(OpenAI.BadRequestError);
    expect(error.message).toContain("vendora_chat_completions");
  });

  it("a body that does not fit the convention is refused in both bodies at once", async () => {
    const { error, tries } = await refusal(() =>
      openai.embeddings.create({ model: ORACLE, input: [], dimensions: 0 }),
    );
    expect(error).toBeInstanceOf(OpenAI.UnprocessableEntityError);
    expect(error.param).toMatch(/^(input|dimensions)/);
    expect(tries).toBe(1);
    const body: unknown = JSON.parse(setup.wire.last.text);
    const about = expect.objectContaining({ loc: ["body", "dimensions"] });
    expect(body).toMatchObject({ detail: expect.arrayContaining([about]) });
  });

  it("a container's refusal has its status and its words, and is not tried again", async () => {
    const error = {
      message: "too hot",
      type: "BadRequestError",
      param: "temperature",
      code: "hot",
    };
    for (const stream of [false, true]) {
      const messages = asks({ fail: { status: 400, error }, mark: `refused ${stream}` });
      const refused = await refusal(() =>
        openai.chat.completions.create({ model: ORACLE, messages, stream }),
      );
      expect(refused.error).toBeInstanceOf(OpenAI.BadRequestError);
      expect(refused.error).toMatchObject({ param: "temperature", code: "hot" });
      expect(refused.error.message).toContain("too hot");
      expect(refused.tries).toBe(1);
      expect(await tallyOf(setup, ORACLE, `refused ${stream}`)).toMatchObject({ asked: 1 });
    }
  });

  it("an input that does not meet a Cog model's schema is refused in both bodies, too", async () => {
    const messages = [{ role: "user" as const, content: "[]" }];
    const { error, tries } = await refusal(() =>
      openai.chat.completions.create({
        model: `${USERNAME}/reciter`,
        messages,
        max_tokens: null,
      }),
    );
    expect(error).toBeInstanceOf(OpenAI.UnprocessableEntityError);
    expect(error.message).toContain("max_tokens");
    expect(tries).toBe(1);
  });

  it("the refusal of a busy container is tried again", async () => {
    for (const [status, type] of [
      [429, OpenAI.RateLimitError],
      [503, OpenAI.InternalServerError],
    ] as const) {
      const { error, tries } = await refusal(() =>
        chat({ fail: { status, error: { message: "busy" } }, mark: `busy ${status}` }),
      );
      expect(error).toBeInstanceOf(type);
      expect(error.status).toBe(status);
      expect(tries).toBe(3);
    }
  });

  it.each([
    ["fails", { fail: { status: 500, error: { message: "out of memory" } } }, "out of memory"],
    ["fails in the stream", { say: ["a"], end: "error" }, "the GPU has melted"],
    ["stops without its end", { say: ["a"], end: "cut" }, /./],
  ] as const)("the client does not try again when the container %s", async (_, script, words) => {
    const { say = [], ...rest } = { say: [], ...script };
    const messages = asks({ say: [...say], ...rest });
    const stream = async () => {
      const chunks = await openai.chat.completions.create({
        model: ORACLE,
        messages,
        stream: true,
      });
      for await (const _ of chunks);
    };
    const { error, tries } = await refusal(stream);
    expect(error.message).toMatch(words);
    expect(tries).toBe(1);
    const full = await endOf(world, world.watch(predictionIn(setup.wire.last)), "failed");
    expect(full.error).toMatchObject({ source: "external" });
  });
});

it("a container that dies fails its predictions with its last log lines, and is started again", async () => {
  const { error, tries } = await refusal(() => chat({ end: "crash" }));
  expect(error.status).toBe(502);
  expect(tries).toBe(1);
  const { error: failure } = await world.get(predictionIn(setup.wire.last));
  expect(JSON.stringify(failure)).toContain("the oracle has seen too much");
  expect((await chat({ say: ["back"] })).choices[0]?.message.content).toBe("back");
});

it("a call that takes too long is canceled and not tried again, unless it is in the background", async () => {
  await chat({});
  const background = await openai.responses.create({
    model: ORACLE,
    background: true,
    input: told({ say: ["at last"], wait: (TIMEOUT_SECONDS + 2) * 1000 }),
  });
  const slow = (mark: string): Script => ({ say: ["a"], end: "hang", mark });
  const streamed = async () => {
    const messages = asks(slow("late stream"));
    const chunks = await openai.chat.completions.create({ model: ORACLE, messages, stream: true });
    for await (const _ of chunks);
  };
  const before = setup.wire.exchanges.length;
  const calls = [
    chat(slow("late")),
    openai.responses.create({ model: ORACLE, input: told(slow("late response")) }),
    streamed(),
  ];
  const outcomes = await Promise.allSettled(calls);
  const errors = outcomes.map((one) => (one.status === "rejected" ? one.reason : undefined));
  expect(errors.slice(0, 2)).toMatchObject([
    { status: 504, code: "timeout" },
    { status: 504, code: "timeout" },
  ]);
  expect(errors[2]).toBeInstanceOf(OpenAI.APIError);
  const late = setup.wire.exchanges.slice(before);
  expect(late).toHaveLength(3);
  for (const exchange of late) {
    await endOf(world, world.watch(predictionIn(exchange)), "canceled");
  }
  for (const mark of ["late", "late response", "late stream"]) {
    expect(await tallyOf(setup, ORACLE, mark)).toMatchObject({ asked: 1, answered: 0, left: 1 });
  }
  const stream = openai.responses.stream({ response_id: background.id });
  expect((await stream.finalResponse()).output_text).toBe("at last");
});
