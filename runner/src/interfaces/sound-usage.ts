/**
 * The seconds of sound of one run of an OpenAI-compatible call: those that a WAV file has, otherwise those that
 * the answer says. Nothing else is decoded.
 */
import { HEADER_BYTES, wavSeconds } from "../../../src/domain/files/wav.ts";
import { numberIn } from "../../../src/lib/exact-json.ts";
import { fieldsOf, textOf } from "../../../src/lib/fields.ts";
import type { Json } from "../../../src/protocol/common.ts";
import type { OpenAiCall } from "../../../src/protocol/runner.ts";
import { PassingReporter, type RunReporter } from "../../../src/run/run-reporter.ts";
import { decodeDataUri } from "../files/output-references.ts";
import { wavSecondsIn } from "../files/wav-file.ts";
import type { Run } from "./interface.ts";

/** @returns undefined for a call without sound */
export function soundUsage(
  reporter: RunReporter,
  call: OpenAiCall,
  run: Pick<Run, "input" | "files">,
): SoundUsage | undefined {
  if (call === "audio_speech") return new Spoken(reporter);
  const hears = call === "audio_transcriptions" || call === "audio_translations";
  return hears ? new Heard(reporter, run) : undefined;
}

abstract class SoundUsage extends PassingReporter {
  protected abstract seconds(): Promise<number | undefined>;

  /** Reports the seconds after the last output, also for runs that failed or were stopped. */
  async settle(): Promise<void> {
    const seconds = await this.seconds();
    if (seconds !== undefined) super.metrics({ audio_seconds: seconds });
  }
}

/** Sound in events, as the runner writes it and as servers do. */
class Spoken extends SoundUsage {
  #head = Buffer.alloc(0);
  #size = 0;

  override output(value: Json, json?: string): void {
    const audio = textOf(fieldsOf(value).audio);
    this.#size += Buffer.byteLength(audio, "base64");
    if (this.#head.length < HEADER_BYTES)
      this.#head = Buffer.concat([this.#head, Buffer.from(audio, "base64")]);
    super.output(value, json);
  }

  protected override async seconds(): Promise<number | undefined> {
    return wavSeconds(this.#head, this.#size);
  }
}

class Heard extends SoundUsage {
  readonly #run: Pick<Run, "input" | "files">;
  #isHeard = false;
  #said: number | undefined;

  constructor(reporter: RunReporter, run: Pick<Run, "input" | "files">) {
    super(reporter);
    this.#run = run;
  }

  override output(value: Json, json?: string): void {
    const { duration, usage } = fieldsOf(value);
    this.#isHeard = true;
    this.#said = secondsIn(fieldsOf(usage).seconds) ?? secondsIn(duration) ?? this.#said;
    super.output(value, json);
  }

  protected override async seconds(): Promise<number | undefined> {
    // A server that has answered nothing may not have heard the sound.
    if (!this.#isHeard) return undefined;
    const text = textOf(this.#run.input.file);
    const file = this.#run.files.get(text);
    const inline = file ? undefined : decodeDataUri(text);
    const counted = file
      ? await wavSecondsIn(file)
      : inline && wavSeconds(inline.bytes, inline.bytes.length);
    return counted ?? this.#said;
  }
}

function secondsIn(value: Json | undefined): number | undefined {
  const seconds = numberIn(value) ?? -1;
  return seconds >= 0 && Number.isFinite(seconds) ? seconds : undefined;
}
