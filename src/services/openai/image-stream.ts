/**
 * The stream of images while they are made: the events of the convention, each with its picture as base64.
 */

import {
  cogPictures,
  eventTraits,
  MAX_PICTURES,
  NO_USAGE,
  type Picture,
  pictureOf,
  TOO_MANY_PICTURES,
  type Traits,
  traitsOf,
  usageOf,
} from "../../domain/openai/image-answer.ts";
import { costIn, TranslationFailed } from "../../domain/openai/translation.ts";
import { exactText } from "../../lib/exact-json.ts";
import type { Json } from "../../protocol/common.ts";
import type { Cost } from "../../protocol/money.ts";
import {
  type AskedImages,
  type ImageRequest,
  type ServerUsage,
  serverImageEvent,
  serverImages,
} from "../../protocol/openai/image.ts";
import { prediction as predictionShape } from "../../protocol/prediction.ts";
import type { EventStream } from "../access/concurrency-limit.ts";
import type { Services } from "../services.ts";
import { type BegunCall, readerOf, timeLimit, unixSeconds } from "./calls.ts";
import { brokenStream, failureOf } from "./failure.ts";
import { failureBeforeOutput, readUntilOutput } from "./first-event.ts";
import { type FoundPicture, findPicture, pictureJson, pieceBytes } from "./images.ts";
import type { NumberedEntry } from "./log-reader.ts";
import { eventText, type Writer, writtenStream } from "./streams.ts";

export interface ImageStreamOptions {
  request: AskedImages & Pick<ImageRequest, "n">;
  /** `image_generation` or `image_edit`. */
  event: string;
  /** Whether the model's outputs are events of the convention already, or an answer. */
  isServer: boolean;
}

/**
 * The stream of a call. Leaving it cancels the prediction.
 * @throws OpenAiProblem when it fails before its first output
 */
export async function imageStream(
  services: Services,
  begun: BegunCall,
  options: ImageStreamOptions,
): Promise<EventStream> {
  const seconds = timeLimit(services, "stream");
  const reader = readerOf(services, begun, seconds);
  const held = await readUntilOutput(reader);
  const failure = failureBeforeOutput(held, seconds);
  if (failure) throw failure;
  const writer = new ImageWriter(services, begun, options, seconds);
  return writtenStream(reader, writer, held);
}

interface PictureEvent extends Traits {
  picture: Picture;
  /** The number of a partial picture; undefined for a complete one. */
  partial?: number | undefined;
  usage?: ServerUsage | undefined;
}

/** An event without its usage. */
interface CompleteEvent {
  type: string;
  found: FoundPicture;
  members: object;
  usage: ServerUsage;
}

const encoder = new TextEncoder();

class ImageWriter implements Writer {
  readonly #services: Services;
  readonly #begun: BegunCall;
  readonly #options: ImageStreamOptions;
  readonly #seconds: number;
  #completed = 0;
  #pictures = 0;
  /** The last picture that was asked for, which waits for the cost: that is known at the end. */
  #held: CompleteEvent | undefined;

  constructor(services: Services, begun: BegunCall, options: ImageStreamOptions, seconds: number) {
    this.#services = services;
    this.#begun = begun;
    this.#options = options;
    this.#seconds = seconds;
  }

  write({ event, data }: NumberedEntry): string | AsyncIterable<Uint8Array> {
    if (event === "output") return this.#events(data);
    if (event !== "done") return "";
    return this.#end(data);
  }

  async *#end(data: Json): AsyncGenerator<Uint8Array, void, void> {
    const prediction = predictionShape.parse(data);
    yield* this.#release(prediction.cost);
    const failure = failureOf(prediction, this.#seconds);
    if (failure) throw failure;
    if (this.#completed === 0) throw new TranslationFailed("The model returned no image.");
  }

  async *#release(cost?: Cost | null): AsyncGenerator<Uint8Array, void, void> {
    const held = this.#held;
    if (!held) return;
    this.#held = undefined;
    const { type, found, members, usage } = held;
    yield* this.#bytes(type, found, { ...members, usage: { ...usage, ...costIn(cost) } });
  }

  async *#bytes(
    type: string,
    found: FoundPicture,
    members: object,
  ): AsyncGenerator<Uint8Array, void, void> {
    yield encoder.encode(`event: ${type}\ndata: `);
    yield* pieceBytes(this.#services, pictureJson(found, "b64_json", members));
    yield encoder.encode("\n\n");
  }

  fail(error: unknown): string {
    const data = { type: "error", error: brokenStream(error).error };
    return eventText(exactText(data), undefined, "error");
  }

  async *#events(output: Json): AsyncGenerator<Uint8Array, void, void> {
    const { request } = this.#options;
    for (const { picture, partial, usage, ...traits } of this.#pictureEvents(output)) {
      yield* this.#release();
      this.#pictures += 1;
      if (this.#pictures > MAX_PICTURES) throw new TranslationFailed(TOO_MANY_PICTURES);
      const found = await findPicture(this.#services, this.#begun.id, picture);
      const isPartial = partial !== undefined;
      if (!isPartial) this.#completed += 1;
      const type = `${this.#options.event}.${isPartial ? "partial_image" : "completed"}`;
      const members = {
        type,
        created_at: unixSeconds(this.#begun.created_at),
        ...eventTraits(traitsOf(request, traits, found.mime_type)),
        ...(isPartial && { partial_image_index: partial }),
      };
      if (isPartial) {
        yield* this.#bytes(type, found, members);
        continue;
      }
      this.#held = { type, found, members, usage: usage ? usageOf(usage) : NO_USAGE };
      if (this.#completed < (request.n ?? 1)) yield* this.#release();
    }
  }

  #pictureEvents(output: Json): PictureEvent[] {
    if (!this.#options.isServer)
      return cogPictures([output]).pictures.map((picture) => ({ picture }));
    const event = serverImageEvent.safeParse(output).data;
    if (event) {
      const { type, partial_image_index: index = 0, ...traits } = event;
      const partial = type.endsWith(".partial_image") ? index : undefined;
      return [{ picture: pictureOf(event), partial, ...traitsIn(traits) }];
    }
    // A server that does not stream answers at once.
    const answer = serverImages.safeParse(output).data;
    return answer?.data.map((one) => ({ picture: pictureOf(one), ...traitsIn(answer) })) ?? [];
  }
}

const traitsIn = ({
  size,
  quality,
  background,
  output_format,
  usage,
}: Omit<PictureEvent, "picture">) => ({
  ...{ size, quality, background, output_format, usage },
});
