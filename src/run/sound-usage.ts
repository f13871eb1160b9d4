/**
 * The seconds of sound of one run of an OpenAI-compatible call: those that a WAV file has, otherwise those that
 * the answer says. Nothing else is decoded.
 */
import { decodeDataUri } from "../domain/files/decoded-data-uri.ts";
import { HEADER_BYTES, wavSeconds } from "../domain/files/wav.ts";
import { bytesOfBase64, lengthOfBase64 } from "../lib/buffer.ts";
import { numberIn } from "../lib/exact-json.ts";
import { fieldsOf, textOf } from "../lib/fields.ts";
import type { Json } from "../protocol/common.ts";
import type { OpenAiCall } from "../protocol/runner.ts";
import { PassingReporter, type RunReporter } from "./run-reporter.ts";

/** Returns the seconds of the file that a text of the input stands for: null if there is such a file, but no WAV. */
export type FindSeconds = (text: string) => Promise<number | null> | undefined;

/** @returns undefined for a call without sound */
export function soundUsage(
  reporter: RunReporter,
  call: OpenAiCall,
  input: Record<string, Json>,
  find: FindSeconds,
): SoundUsage | undefined {
  if (call === "audio_speech") return new Spoken(reporter);
  const hears = call === "audio_transcriptions" || call === "audio_translations";
  return hears ? new Heard(reporter, textOf(input.file), find) : undefined;
}

abstract class SoundUsage extends PassingReporter {
  protected abstract seconds(): Promise<number | undefined>;

  /** Reports the seconds after the last output, also for runs that failed or were stopped. */
  async settle(): Promise<void> {
    const seconds = await this.seconds();
    if (seconds !== undefined) super.metrics({ audio_seconds: seconds });
  }
}

/** Sound in events, as a run of speech writes it and as servers do. */
class Spoken extends SoundUsage {
  #head = new Uint8Array(0);
  #size = 0;

  override output(value: Json, json?: string): void {
    const audio = textOf(fieldsOf(value).audio);
    this.#size += lengthOfBase64(audio);
    if (this.#head.length < HEADER_BYTES) this.#head = joined(this.#head, bytesOfBase64(audio));
    super.output(value, json);
  }

  protected override async seconds(): Promise<number | undefined> {
    return wavSeconds(this.#head, this.#size);
  }
}

function joined(one: Uint8Array, other: Uint8Array) {
  const both = new Uint8Array(one.length + other.length);
  both.set(one);
  both.set(other, one.length);
  return both;
}

class Heard extends SoundUsage {
  readonly #file: string;
  readonly #find: FindSeconds;
  #isHeard = false;
  #said: number | undefined;

  constructor(reporter: RunReporter, file: string, find: FindSeconds) {
    super(reporter);
    this.#file = file;
    this.#find = find;
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
    const stored = this.#find(this.#file);
    const inline = stored ? undefined : decodeDataUri(this.#file);
    const counted = stored ? await stored : inline && wavSeconds(inline.bytes, inline.bytes.length);
    return counted ?? this.#said;
  }
}

function secondsIn(value: Json | undefined): number | undefined {
  const seconds = numberIn(value) ?? -1;
  return seconds >= 0 && Number.isFinite(seconds) ? seconds : undefined;
}
