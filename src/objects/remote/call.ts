/** One call to a remote host, from its order to the acknowledgement of its end. */
import { formatLease, type LeaseHolder, leaseProof } from "../../domain/predictions/lease.ts";
import { type Bindings, settings } from "../../env.ts";
import { exactText } from "../../lib/exact-json.ts";
import { logger } from "../../log.ts";
import { RemoteHost } from "../../outbound/remote-host.ts";
import type { Finish } from "../../protocol/channel.ts";
import type { Json } from "../../protocol/common.ts";
import type { OpenAiCall } from "../../protocol/runner.ts";
import { Channel, type ChannelEnd } from "../../run/channel.ts";
import { external, Failure, failedFinish, internal } from "../../run/failure.ts";
import { brokenServer, ServerFailure } from "../../run/openai/error.ts";
import { OpenAiExchange } from "../../run/openai/exchange.ts";
import { formOf } from "../../run/openai/form.ts";
import { Reporter } from "../../run/reporter.ts";
import { soundUsage } from "../../run/sound-usage.ts";
import { TokenUsage } from "../../run/token-usage.ts";
import { openChannel, predictionWithId } from "../stubs/prediction.ts";
import type { RemoteOrder } from "../stubs/remote.ts";
import { ObjectConnection } from "./connection.ts";
import { type RemoteInput, readInput } from "./input.ts";
import { Outputs } from "./outputs.ts";
import { runAtReplicate } from "./replicate.ts";

/** Leases name a runner, and the token that it used. A remote object has neither. */
const NO_RUNNER = "00000000-0000-0000-0000-000000000000";
const NO_TOKEN = { token_id: "remote", token_known_at: Number.MAX_SAFE_INTEGER };

/** An answer with images is in memory as text, values and bytes, of the 128 MB that objects share. */
const IMAGE_ANSWER_BYTES = 16 * 1024 ** 2;

/** Runners ping three times in a lease, too. */
const PINGS_PER_LEASE = 3;

export class RemoteCall {
  readonly #env: Bindings;
  readonly #order: RemoteOrder;
  /** Aborted with an error: the run fails with it. */
  readonly #stop = new AbortController();
  readonly #cancel = new AbortController();
  readonly #reporter: Reporter;
  #channel: Channel | undefined;
  #output: Finish["output"] = "none";

  constructor(env: Bindings, order: RemoteOrder) {
    this.#env = env;
    this.#order = order;
    this.#reporter = new Reporter({
      limits: order.spec.limits,
      onChange: () => this.#channel?.notify(),
      onBreach: (message) => this.#stop.abort(external(message)),
    });
  }

  async run(): Promise<void> {
    const { object_id, attempt, secret, spec } = this.#order;
    const { token_id } = NO_TOKEN;
    const proof = await leaseProof(secret, token_id, NO_RUNNER);
    const lease = formatLease({ attempt, objectId: object_id, runnerId: NO_RUNNER, proof });
    const holder: LeaseHolder = { lease, ...NO_TOKEN };
    const begun = Promise.withResolvers<void>();
    const channel = this.#open(holder, begun.resolve);
    // The prediction stores this before the request is sent: from then on, a loss of this object may mean
    // that the host has run the call.
    this.#reporter.setup({ phase: "ready" });
    channel.open(true);
    const ended = channel.ended.then((end) => this.#ended(end));
    await Promise.race([begun.promise, ended]);
    if (!this.#stop.signal.aborted) {
      const outputs = new Outputs(this.#env, this.#order, holder, this.#reporter);
      const finish = await this.#finish(outputs);
      this.#reporter.finish(outputs.redacted(finish));
    }
    const end = await ended;
    const { id: prediction_id, user_id } = spec;
    if (end.kind !== "finished")
      logger.warn("Remote call given up", { prediction_id, user_id, attempt, reason: end.kind });
  }

  #ended(end: ChannelEnd): ChannelEnd {
    if (end.kind !== "finished") this.#stop.abort(internal(end.kind));
    return end;
  }

  #open(holder: LeaseHolder, onBegun: () => void): Channel {
    const { lease_seconds } = settings(this.#env).patience;
    const reporter = this.#reporter;
    let hasBegun = false;
    this.#channel = new Channel({
      connect: (timing, handlers) => new ObjectConnection(this.#upgrade(holder), timing, handlers),
      post: () => Promise.reject(new Error("a remote call always has a channel")),
      settings: { ping_seconds: lease_seconds / PINGS_PER_LEASE, lease_seconds },
      outbox: {
        get empty() {
          return reporter.empty;
        },
        get finished() {
          return reporter.finished;
        },
        // The request waits for the first frame.
        get urgent() {
          return reporter.urgent || !(hasBegun || reporter.empty);
        },
        take: () => reporter.take(),
      },
      onCancel: () => this.#cancel.abort(),
      onReceipt: () => {},
      onStored: () => {
        hasBegun = true;
        onBegun();
      },
    });
    return this.#channel;
  }

  async #upgrade(holder: LeaseHolder): Promise<Response> {
    const prediction = predictionWithId(this.#env, this.#order.object_id);
    if (!prediction) throw new Error("no such prediction");
    return openChannel(prediction, holder);
  }

  /** Never rejects. */
  async #finish(outputs: Outputs): Promise<Finish> {
    const signal = AbortSignal.any([this.#stop.signal, this.#cancel.signal]);
    const startedAt = Date.now();
    const timed = (finish: Finish): Finish => {
      const seconds = (Date.now() - startedAt) / 1_000;
      const billable = { run_seconds: seconds, setup_seconds: 0 };
      return { ...finish, execution_seconds: seconds, billable };
    };
    try {
      await this.#work(await readInput(this.#env, this.#order), outputs, signal);
      return timed({ status: "succeeded", output: this.#output });
    } catch (error) {
      if (this.#cancel.signal.aborted) return timed({ status: "canceled", output: this.#output });
      const reason: unknown = this.#stop.signal.aborted ? this.#stop.signal.reason : error;
      return timed(failedFinish(this.#failureOf(reason), this.#output));
    }
  }

  /** Errors of the platform may name addresses, and are only logged. */
  #failureOf(error: unknown): Failure {
    if (error instanceof Failure) return error;
    const { id: prediction_id, user_id } = this.#order.spec;
    logger.warn("Remote call broken", { prediction_id, user_id, error: String(error) });
    return brokenServer("the connection to the remote host was lost");
  }

  async #work({ input, files }: RemoteInput, outputs: Outputs, signal: AbortSignal): Promise<void> {
    const { spec, key } = this.#order;
    const { remote, call } = spec;
    if (!remote) throw internal("the version is not remote");
    const variable = remote.key_variable;
    if (variable !== undefined && key === undefined)
      throw external(
        `the model's variable '${variable}', which holds the key of the remote host, has no value. Its owner can set it`,
      );
    const host = new RemoteHost(remote, key, settings(this.#env).webhooks);
    if (remote.api === "replicate") {
      const { output_bytes } = spec.limits;
      const run = { host, model: remote.model, input, output_bytes, reporter: outputs, signal };
      this.#output = await runAtReplicate(run).finally(() => outputs.settle());
      return;
    }
    if (call === null) throw internal("the input is not that of a call");
    const find = (text: string) => files.get(text);
    const sound = soundUsage(outputs, call, input, (text) => find(text)?.seconds());
    const usage = new TokenUsage(sound ?? outputs, call, input);
    const parts = {
      post: (asked: OpenAiCall, path: string, body: Record<string, Json>, end: AbortSignal) =>
        host.send("POST", path, end, formOf(asked, body, find) ?? exactText(body)),
      // The host is read no faster than its outputs are stored.
      openLarge: () => ({ progress: () => outputs.drain(), done() {} }),
      model: remote.model,
      // The answer of a paid API has more than its stream.
      assembles: false,
      missing: new Set<OpenAiCall>(remote.api === "openai" ? ["messages", "count_tokens"] : []),
      responseFields: async () => undefined,
      keyRefused: (answer: string) =>
        `the container refused the call (${answer})${key === undefined ? ", which has no key" : `: check the key in the model's variable '${variable}'`}`,
    };
    const { owner, name } = spec.model;
    const run = {
      ...{ id: spec.id, call, responses: spec.responses, model: `${owner}/${name}` },
      ...{ input, limits: spec.limits, image_answer_bytes: IMAGE_ANSWER_BYTES },
    };
    const exchange = new OpenAiExchange(run, parts, (value, kind, json) => {
      this.#output = kind;
      usage.output(value, json);
    });
    let isRejected = false;
    try {
      await exchange.run(signal);
    } catch (error) {
      isRejected = error instanceof ServerFailure && error.isRefusal && this.#output === "none";
      throw error;
    } finally {
      if (!isRejected && call !== "count_tokens") {
        usage.settle();
        await sound?.settle();
      }
      await outputs.settle();
    }
  }
}
