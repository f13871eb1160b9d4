/** Reads pictures, sounds and transcripts from the outputs of a prediction, whatever the model calls them. */
import { dataUriHead } from "../../domain/files/data-uri.ts";
import { isObject } from "../../lib/json.ts";
import type { Json } from "../../protocol/common.ts";
import { outputOf, pictureIn } from "../prediction-view/output-kind.ts";

export type MediaItem =
  | { kind: "image" | "audio" | "video" | "file"; address: string; name: string }
  | { kind: "link"; address: string; name: string }
  | { kind: "json"; value: Json };

export interface Segment {
  /** Seconds. */
  start: number;
  end: number | undefined;
  text: string;
}

type Part = { [name: string]: Json };

export class MediaOutputs {
  readonly items: MediaItem[] = [];
  /** A picture that is not finished, as a data URL. */
  partial: string | undefined;
  text = "";
  segments: Segment[] = [];
  #sound = new Sound();
  readonly #host: string;

  /** @param host of the page, whose files are shown */
  constructor(host: string) {
    this.#host = host;
  }

  get isEmpty(): boolean {
    return this.items.length === 0 && this.text === "" && this.segments.length === 0;
  }

  take(output: Json): void {
    if (Array.isArray(output)) for (const one of output) this.take(one);
    else if (typeof output === "string") this.#string(output);
    else if (isObject(output)) this.#object(output);
    else if (output !== null) this.text += String(output);
  }

  /** Ends the output: sound is whole only then. */
  end(): void {
    const { address } = this.#sound;
    this.#sound = new Sound();
    if (address !== undefined) this.#add({ kind: "audio", address, name: "Sound" });
  }

  #string(text: string): void {
    if (dataUriHead(text)?.mime_type.toLowerCase().startsWith("audio/"))
      return this.#add({ kind: "audio", address: text, name: "Sound" });
    const output = outputOf(text, this.#host);
    if (output.kind === "link")
      this.#add({ kind: "link", address: output.address, name: output.text });
    else if ("address" in output) this.#add(output);
    else this.text += text;
  }

  #object(value: Part): void {
    const { type, text, delta } = value;
    const picture = pictureIn(value);
    if (typeof type === "string" && type.endsWith(".partial_image")) this.partial = picture;
    else if (picture !== undefined) this.#add({ kind: "image", address: picture, name: "Picture" });
    else if (type === "speech.audio.delta")
      this.#sound.take(textOf(value.audio), textOf(value.content_type));
    else if (type === "speech.audio.done") this.end();
    else if (type === "transcript.text.delta") this.text += textOf(delta);
    else if (type === "transcript.text.done") this.text = textOf(text) || this.text;
    else if (Array.isArray(value.data)) this.take(value.data);
    else if (typeof value.url === "string") this.#string(value.url);
    else if (!this.#transcript(value)) this.#add({ kind: "json", value });
  }

  /** A text with its segments; Whisper's pipelines call them chunks. */
  #transcript({ text, transcription, segments, chunks }: Part): boolean {
    const whole = textOf(text) || textOf(transcription);
    const found = [segments, chunks].find((one) => Array.isArray(one)) ?? [];
    const read = (Array.isArray(found) ? found : []).flatMap(segmentIn);
    if (whole === "" && read.length === 0) return false;
    this.text = whole || read.map((segment) => segment.text).join(" ");
    this.segments = read;
    return true;
  }

  #add(item: MediaItem): void {
    this.partial = undefined;
    this.items.push(item);
  }
}

const textOf = (value: Json | undefined) => (typeof value === "string" ? value : "");

function segmentIn(value: Json): Segment[] {
  if (!isObject(value)) return [];
  const [from, to] = Array.isArray(value.timestamp) ? value.timestamp : [];
  const start = value.start ?? from;
  const end = value.end ?? to;
  if (typeof start !== "number" || typeof value.text !== "string") return [];
  return [{ start, end: typeof end === "number" ? end : undefined, text: value.text.trim() }];
}

/** `1:02.5` */
export function timeText(seconds: number): string {
  const tenths = Math.round(seconds * 10);
  const rest = tenths % 600;
  return `${Math.floor(tenths / 600)}:${rest < 100 ? "0" : ""}${(rest / 10).toFixed(1)}`;
}

/** Servers make this type unless a request asks for another. */
const DEFAULT_TYPE = "audio/mpeg";

class Sound {
  readonly #pieces: string[] = [];
  #type = DEFAULT_TYPE;

  take(base64: string, contentType: string): void {
    // The media type without its parameters, which a data URL has elsewhere.
    this.#type = /^audio\/[\w.+-]+/.exec(contentType)?.[0] ?? this.#type;
    try {
      this.#pieces.push(atob(base64));
    } catch {
      // The server's own events may be anything: what cannot be read is left out.
    }
  }

  /** A data URL; undefined without any. */
  get address(): string | undefined {
    const bytes = this.#pieces.join("");
    return bytes === "" ? undefined : `data:${this.#type};base64,${btoa(bytes)}`;
  }
}

const HEADER = 44;

export function wavOf(samples: Float32Array, rate: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(HEADER + 2 * samples.length);
  const view = new DataView(bytes.buffer);
  const text = (at: number, value: string) =>
    bytes.set(
      [...value].map((char) => char.charCodeAt(0)),
      at,
    );
  text(0, "RIFF");
  view.setUint32(4, bytes.length - 8, true);
  text(8, "WAVEfmt ");
  view.setUint32(16, 16, true);
  view.setUint16(20, 1, true);
  view.setUint16(22, 1, true);
  view.setUint32(24, rate, true);
  view.setUint32(28, 2 * rate, true);
  view.setUint16(32, 2, true);
  view.setUint16(34, 16, true);
  text(36, "data");
  view.setUint32(40, 2 * samples.length, true);
  for (const [n, sample] of samples.entries()) {
    const bounded = Math.max(-1, Math.min(1, sample));
    view.setInt16(HEADER + 2 * n, Math.round(bounded * 32_767), true);
  }
  return bytes;
}
