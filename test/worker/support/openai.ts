/** OpenAI-compatible calls, and a runner that answers them like a container. */
import type { Finish } from "../../../src/protocol/channel.ts";
import type { Json } from "../../../src/protocol/common.ts";
import type { ReportedEvent } from "../../../src/protocol/event.ts";
import { claimResponse, type Job, type OpenAiCall } from "../../../src/protocol/runner.ts";
import type { Client } from "./client.ts";
import { storeFile } from "./files.ts";
import type { Channel, FakeRunner } from "./runner.ts";
import { newWorld, type WorldOptions } from "./world.ts";

export const ALL = {
  vendora_chat_completions: true,
  vendora_embeddings: true,
  vendora_responses: true,
  vendora_audio_speech: true,
  vendora_audio_transcriptions: true,
  vendora_audio_translations: true,
  vendora_images_generations: true,
  vendora_images_edits: true,
  vendora_completions: true,
  vendora_moderations: true,
  vendora_rerank: true,
};

/** A model that takes all calls. */
export const TAKES_ALL: WorldOptions = {
  compatibilities: ALL,
  configuration: { interface: "vendora" },
};

/** Returns a world with a runner whose model takes all calls. */
export async function newOpenAi(options: WorldOptions = {}) {
  const world = await newWorld({ ...TAKES_ALL, ...options });
  return { ...world, fleet: await world.runner() };
}

export const MESSAGES = [{ role: "user", content: "Go on" }];

export const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };

export const completion = (content: string): Json => ({
  id: "theirs",
  object: "chat.completion",
  created: 1,
  model: "m",
  choices: [
    { index: 0, message: { role: "assistant", content }, finish_reason: "stop", logprobs: null },
  ],
  usage,
});

export const chunk = (delta: Json, finish_reason: string | null = null): Json => ({
  id: "theirs",
  object: "chat.completion.chunk",
  created: 1,
  model: "m",
  choices: [{ index: 0, delta, finish_reason }],
});

const outputs = (values: Json[]): ReportedEvent[] =>
  values.map((data) => ({ event: "output", data }));

const METRICS: ReportedEvent = { event: "metrics", data: { input_tokens: 3, output_tokens: 2 } };

export const failed = (
  source: "external" | "internal",
  message: string,
  detail?: Json,
): Finish => ({
  status: "failed",
  output: "none",
  error: { source, message, ...(detail !== undefined && { detail }) },
});

/** Returns the refusal of a container, as a runner reports it. */
export const refused = (status: number, error: Json): Finish =>
  failed("external", "the container refused", { status, error });

/** Takes the next job and answers it, whole or in pieces. */
export async function answer(fleet: FakeRunner, ...values: Json[]): Promise<Job> {
  const { job, channel } = await fleet.work();
  await finish(channel, values);
  return job;
}

export const finish = (channel: Channel, values: Json[]) =>
  channel.report([...outputs(values), METRICS], {
    status: "succeeded",
    output: values.length === 1 ? "value" : "items",
  });

export const put = (channel: Channel, ...values: Json[]) => channel.report(outputs(values));

/** Returns the data of a stream's events, with `[DONE]` as text. */
export async function dataOf(response: Response): Promise<unknown[]> {
  const text = await response.text();
  return [...text.matchAll(/^data: (.*)$/gm)].map(([, data = ""]) =>
    data === "[DONE]" ? data : JSON.parse(data),
  );
}

export const chat = (client: Client, model: string, more: object = {}) =>
  client.post("/v1/vendora/chat/completions", { model, messages: MESSAGES, ...more });

/** Returns the ID of the prediction that an answer names. */
export const predictionOf = ({ headers }: Response) => headers.get("auspex-prediction-id") ?? "";

/** Returns the ID of the prediction that was created last. */
export async function newest(client: Client): Promise<string> {
  const { items } = await client.ok<{ items: { id: string }[] }>("GET", "/v1/predictions");
  const [last] = items;
  if (!last) throw new Error("there is no prediction yet");
  return last.id;
}

const ANSWERS: Partial<Record<OpenAiCall, Json>> = {
  chat_completions: completion("on"),
  responses: "on",
  embeddings: [[0.5, -0.25]],
  messages: completion("on"),
  count_tokens: { input_tokens: 3 },
  audio_speech: { type: "speech.audio.delta", audio: "b24=" },
  audio_transcriptions: { text: "on" },
  audio_translations: { text: "on" },
  completions: { choices: [{ text: "on" }] },
  moderations: { results: [{ flagged: false }] },
  rerank: { results: [{ index: 0, relevance_score: 0.5 }] },
};

/** Answers every job until the signal aborts, except for jobs in the background, which go on. */
export async function answerAll(fleet: FakeRunner, over: AbortSignal): Promise<void> {
  while (!over.aborted) {
    // A runner without telemetry for 90 s is offline, and the operator may remove it.
    await fleet.tell();
    const jobs = await claimed(fleet, over);
    // The caller may have left meanwhile, and the run was canceled with it.
    await Promise.allSettled(
      jobs.map((job) => (isWaitedFor(job) ? answerOne : goOnWith)(fleet, job)),
    );
  }
}

async function answerOne(fleet: FakeRunner, job: Job): Promise<void> {
  const channel = await fleet.connect(job);
  const isImage = job.call === "images_generations" || job.call === "images_edits";
  const images = isImage && { data: [{ url: await storeFile(fleet, job, "1") }] };
  await finish(channel, [images || (ANSWERS[job.call ?? "responses"] ?? {})]);
  channel.close();
}

/**
 * Goes on with a job until it is canceled. The runner connects, because it would get no more jobs otherwise.
 */
async function goOnWith(fleet: FakeRunner, job: Job): Promise<void> {
  const channel = await fleet.connect(job);
  channel.onCancel(() => {
    const finish: Finish = { status: "canceled", output: "none" };
    channel.send({ type: "events", seq: channel.welcomed + 1, events: [], finish });
  });
}

const isWaitedFor = ({ input }: Job) => input?.background !== true;

async function claimed(fleet: FakeRunner, over: AbortSignal): Promise<Job[]> {
  try {
    const response = await fleet.poll({ free: 10 }, over);
    return fleet.received(claimResponse.parse(await response.json()).jobs);
  } catch (error) {
    if (over.aborted) return [];
    throw error;
  }
}
