/** The `vendora` interface: OpenAI-compatible servers, such as vLLM and llama.cpp. */
import { createReadStream } from "node:fs";
import { bodyFields } from "../../../../src/domain/images/openapi-document.ts";
import { exactText } from "../../../../src/lib/exact-json.ts";
import { sleep } from "../../../../src/lib/timeout.ts";
import type { Finish } from "../../../../src/protocol/channel.ts";
import type { Json } from "../../../../src/protocol/common.ts";
import type { OpenAiCall, ServerDescription } from "../../../../src/protocol/runner.ts";
import { TooLarge } from "../../../../src/run/bounded-json.ts";
import { Failure, failedFinish, internal } from "../../../../src/run/failure.ts";
import { brokenServer, ServerFailure } from "../../../../src/run/openai/error.ts";
import { type ExchangeParts, OpenAiExchange } from "../../../../src/run/openai/exchange.ts";
import { formOf } from "../../../../src/run/openai/form.ts";
import { PATHS, requestBody } from "../../../../src/run/openai/request.ts";
import { reasonOf } from "../../lib/error.ts";
import { ContainerClient } from "../container-client.ts";
import { describeServer } from "../describe-server.ts";
import type {
  ContainerConnection,
  Outcome,
  Run,
  ServerInterface,
  Session,
  Timing,
} from "../interface.ts";
import { apiKeyRequired, traceHeaders } from "../interface.ts";
import { LargeReads } from "../large-reads.ts";
import { waitUntilReady } from "./ready.ts";
import { ReleaseWatch } from "./release.ts";

export class OpenAiInterface implements ServerInterface {
  readonly #timing: Timing;
  readonly #large: LargeReads;

  constructor(timing: Timing, large = new LargeReads()) {
    this.#timing = timing;
    this.#large = large;
  }

  /** The engine sets the listen address; the concurrency is a flag of the server. */
  environment(): Record<string, string> {
    return {};
  }

  async connect(
    connection: ContainerConnection,
    report: (logs: string) => void,
    stop: AbortSignal,
  ): Promise<Session> {
    const client = new ContainerClient(connection.address);
    const unfollow = connection.follow(report);
    try {
      const end = AbortSignal.any([connection.ended, stop]);
      const server = await waitUntilReady(client, this.#timing, report, end, connection.watch);
      const { ended } = connection;
      const [timing, large] = [this.#timing, this.#large];
      const { health, model } = server;
      const openRuns = new Set<Run>();
      const release = new ReleaseWatch({
        client,
        health,
        openCount: () => openRuns.size,
        pollMs: timing.releasePollMs,
      });
      const parts = {
        client,
        ended,
        timing,
        large,
        health,
        model,
        openRuns,
        release,
        missing: new Set<OpenAiCall>(),
      };
      return new OpenAiSession(parts);
    } catch (error) {
      client.close();
      throw error;
    } finally {
      unfollow();
    }
  }
}

/** The parts that the runs of one OpenAI-compatible server share. */
interface SessionParts extends Pick<ExchangeParts, "model" | "missing"> {
  client: ContainerClient;
  ended: AbortSignal;
  timing: Timing;
  large: LargeReads;
  /** The path of the health check. */
  health: string;
  openRuns: Set<Run>;
  release: ReleaseWatch;
  /** The fields that the server's own responses have, once a call has asked for them. */
  responseFields?: Promise<Set<string> | undefined>;
}

const ANSWER_MS = 5_000;

async function describedFields(client: ContainerClient): Promise<Set<string> | undefined> {
  try {
    const call = { method: "GET", path: "/openapi.json", timeoutMs: ANSWER_MS } as const;
    const { status, body } = await client.call(call);
    return status === 200 ? bodyFields(body, PATHS.responses) : undefined;
  } catch {
    return undefined;
  }
}

class OpenAiSession implements Session {
  readonly declaresFiles = false;
  readonly stopsOnDisconnect = true;
  readonly #parts: SessionParts;

  constructor(parts: SessionParts) {
    this.#parts = parts;
  }

  run(run: Run): Promise<Outcome> {
    return new OpenAiRun(run, this.#parts).execute();
  }

  /** OpenAI-compatible servers have no endpoint for a shutdown: the engine sends a signal next. */
  async shutdown(): Promise<void> {}

  describe(): Promise<ServerDescription | undefined> {
    return describeServer(this.#parts.client);
  }

  close(): void {
    this.#parts.client.close();
  }
}

/** Timeouts of the smallest possible request and of a health check. */
const NUDGE_TIMEOUT_MS = 5_000;
const HEALTH_TIMEOUT_MS = 2_000;

/**
 * One run in an OpenAI-compatible server: how it ends, and what that means for the container. It
 * has no deadline of its own; `stop` and the end of the container close the connection.
 */
class OpenAiRun {
  readonly #run: Run;
  readonly #parts: SessionParts;
  #output: Finish["output"] = "none";
  /** From the request to the end of the response. */
  #executionSeconds = 0;

  constructor(run: Run, parts: SessionParts) {
    this.#run = run;
    this.#parts = parts;
  }

  async execute(): Promise<Outcome> {
    if (this.#run.stop.aborted) return { finish: this.#canceled, container: "kept" };
    const outcome = await this.#outcome();
    const execution_seconds = this.#executionSeconds;
    return { ...outcome, finish: { ...outcome.finish, execution_seconds } };
  }

  get #canceled(): Finish {
    return { status: "canceled", output: this.#output };
  }

  async #outcome(): Promise<Outcome> {
    try {
      const output = await this.#exchange();
      return { finish: { status: "succeeded", output }, container: "kept" };
    } catch (error) {
      const failure = this.#run.stop.aborted ? undefined : await this.#toFailure(error);
      // The run also counts as stopped if `stop` was aborted while the failure was examined.
      return this.#run.stop.aborted || !failure ? this.#stopped() : this.#failed(failure);
    }
  }

  async #exchange(): Promise<Finish["output"]> {
    const { stop, reporter, files } = this.#run;
    const { client, large, model, missing } = this.#parts;
    const find = (text: string) => {
      const file = files.get(text);
      return file && { ...file, content: () => createReadStream(file.path) };
    };
    const parts: ExchangeParts = {
      post: (call, path, body, end) =>
        client.stream(
          path,
          formOf(call, body, find) ?? exactText(body),
          end,
          traceHeaders(this.#run),
        ),
      openLarge: (answer, end) => large.open(answer, end),
      model,
      assembles: true,
      missing,
      responseFields: () => {
        this.#parts.responseFields ??= describedFields(client);
        return this.#parts.responseFields;
      },
      keyRefused: (answer) => apiKeyRequired(answer).message,
    };
    const exchange = new OpenAiExchange(this.#run, parts, (value, kind, json) => {
      this.#output = kind;
      reporter.output(value, json);
    });
    this.#parts.openRuns.add(this.#run);
    const startedAt = performance.now();
    try {
      return await exchange.run(AbortSignal.any([stop, this.#parts.ended]));
    } finally {
      this.#parts.openRuns.delete(this.#run);
      this.#executionSeconds = (performance.now() - startedAt) / 1e3;
    }
  }

  /** A broken connection is the first sign of a container's end. */
  async #toFailure(error: unknown): Promise<Failure> {
    const { ended, timing } = this.#parts;
    if (error instanceof Failure) return error;
    await sleep(timing.exitNoticeMs, AbortSignal.any([ended, this.#run.stop]));
    if (!ended.aborted) {
      return brokenServer(`the connection to the container was lost: ${reasonOf(error)}`);
    }
    return ended.reason instanceof Failure ? ended.reason : internal(String(ended.reason));
  }

  async #failed(failure: Failure): Promise<Outcome> {
    const finish = failedFinish(failure, this.#output);
    if (this.#parts.ended.aborted) return { finish, container: "retired" };
    const isServerFailure = failure instanceof ServerFailure;
    const answered = isServerFailure || failure instanceof TooLarge;
    const inputRejected = isServerFailure && failure.isRefusal && this.#output === "none";
    // A single caller's request, such as a grammar that the server cannot parse, may cause a 500
    // too.
    const notContainersFault = inputRejected || (answered && (await this.#isHealthy()));
    return { finish, container: "kept", inputRejected, notContainersFault };
  }

  async #isHealthy(): Promise<boolean> {
    const { client, health } = this.#parts;
    const call = { method: "GET", path: health, timeoutMs: HEALTH_TIMEOUT_MS } as const;
    return (await client.call(call).catch(() => undefined))?.status === 200;
  }

  async #stopped(): Promise<Outcome> {
    const { ended, release, timing } = this.#parts;
    const isFree = await release.waitUntilFree(() => this.#nudge(), timing.cancelGraceMs, ended);
    if (ended.aborted) return { finish: this.#canceled, container: "retired" };
    return { finish: this.#canceled, container: isFree ? "kept" : "killed" };
  }

  async #nudge(): Promise<void> {
    const { call, input, model } = this.#run;
    const { path, type, body } = smallestRequest(call, { ...input, model }, this.#parts.model);
    const request = { method: "POST", path, headers: { "content-type": type }, body } as const;
    await this.#parts.client
      .call({ ...request, timeoutMs: NUDGE_TIMEOUT_MS })
      // The response does not matter, only that the server has worked.
      .catch(() => undefined);
  }
}

type Body = Record<string, Json>;

interface SmallestRequest {
  path: string;
  type: string;
  body: string | Uint8Array;
}

/** @param input of the canceled call: a server may have no other voice than the one it names */
export function smallestRequest(
  call: OpenAiCall | null,
  input: Body,
  model: string | undefined,
): SmallestRequest {
  switch (call) {
    case "completions":
      return json(call, { model: input.model ?? null, prompt: ".", max_tokens: 1 }, model);
    case "rerank":
      return json(call, { model: input.model ?? null, query: ".", documents: ["."] }, model);
    case "embeddings":
    case "moderations":
      return json(call, { model: input.model ?? null, input: "." }, model);
    case "audio_speech":
      return json(
        call,
        { model: input.model ?? null, input: ".", voice: input.voice ?? null },
        model,
      );
    case "audio_transcriptions":
    case "audio_translations":
      return form(call, String(model ?? input.model));
    default: {
      const messages = [{ role: "user", content: "." }];
      return json(
        "chat_completions",
        { model: input.model ?? null, messages, max_tokens: 1 },
        model,
      );
    }
  }
}

const json = (call: OpenAiCall, input: Body, model: string | undefined): SmallestRequest => ({
  path: PATHS[call],
  type: "application/json",
  body: JSON.stringify(requestBody(call, input, model)),
});

const BOUNDARY = "auspex";
const SAMPLES = 1_600;

/** With a tenth of a second of silence. */
function form(call: OpenAiCall, model: string): SmallestRequest {
  const head = `--${BOUNDARY}\r\ncontent-disposition: form-data; name=`;
  const body = Buffer.concat([
    Buffer.from(`${head}"model"\r\n\r\n${model}\r\n`),
    Buffer.from(`${head}"file"; filename="silence.wav"\r\ncontent-type: audio/wav\r\n\r\n`),
    silence(),
    Buffer.from(`\r\n--${BOUNDARY}--\r\n`),
  ]);
  return { path: PATHS[call], type: `multipart/form-data; boundary=${BOUNDARY}`, body };
}

/** A WAV file: mono, 16 bits, 16 kHz. */
function silence(): Buffer {
  const wav = Buffer.alloc(44 + 2 * SAMPLES);
  wav.write("RIFF", 0);
  wav.writeUInt32LE(wav.length - 8, 4);
  wav.write("WAVEfmt ", 8);
  for (const [at, value] of [
    [16, 16],
    [24, 16_000],
    [28, 32_000],
    [40, 2 * SAMPLES],
  ] as const)
    wav.writeUInt32LE(value, at);
  for (const [at, value] of [
    [20, 1],
    [22, 1],
    [32, 2],
    [34, 16],
  ] as const)
    wav.writeUInt16LE(value, at);
  wav.write("data", 36);
  return wav;
}
