/** A run as a conversation of the chat, to go on from: its answer is read from its stream. */
import type { Field } from "../../../domain/schemas/input-form.ts";
import {
  type FilledField,
  fillForm,
  type Input,
} from "../../../domain/schemas/input-form-values.ts";
import { isObject } from "../../../lib/json.ts";
import type { Json } from "../../../protocol/common.ts";
import type { PredictionView } from "../../../services/predictions/prediction-view.ts";
import type { VersionRow } from "../../../storage/models/versions.ts";
import { outputOf } from "../../prediction-view/output-kind.ts";
import { type Kept, newAnswer, type Turn } from "./conversation.ts";
import { LIMITS } from "./input.ts";
import { type ReadChat, readChat } from "./read-input.ts";
import { type ChatWire, chatSettings, chatWire, takesTools } from "./wire.ts";

export interface OpenedRun {
  conversation: Kept;
  settings: FilledField[];
}

interface Run {
  prediction: PredictionView;
  input: Input;
}

/** @returns undefined where the chat cannot hold all of its input, or the version has no chat */
export function openRun(
  version: VersionRow,
  { prediction: { prediction, displayInput }, input }: Run,
  host: string,
): OpenedRun | undefined {
  const own = chatWire(version.compatibilities);
  if (!own) return undefined;
  if (input.tools != null && !takesTools(version)) return undefined;
  // A client of another convention has written it as that one has it.
  const read = readAs([own, ...WIRES], input);
  if (!read) return undefined;
  const fields = chatSettings(version, own);
  const settings = fillForm(fields, settingsFor(fields, read.settings));
  if (!settings) return undefined;
  const answer: Turn = { ...newAnswer(0), prediction: prediction.id };
  const turns = [...withPreviews(read.turns, displayInput, host), answer];
  return { conversation: { system: read.system, tools: read.tools, turns }, settings };
}

const WIRES: ChatWire[] = ["chat", "responses", "messages"];

/** The first of these conventions that can read the input counts. */
function readAs(wires: ChatWire[], input: { [name: string]: Json }): ReadChat | undefined {
  for (const wire of wires) {
    const read = readChat(wire, input);
    if (read) return read;
  }
  return undefined;
}

/** The limit of tokens by the name that the version has for it. */
function settingsFor(fields: Field[], given: Input): Input {
  const names = new Set(fields.map(({ name }) => name));
  const limit = [...LIMITS].find((name) => names.has(name));
  return Object.fromEntries(
    Object.entries(given).map(([name, value]) => [
      (LIMITS.has(name) && !names.has(name) && limit) || name,
      value,
    ]),
  );
}

/** Adds previews of pictures that the page can load: its own, at the same places of the displayed input. */
function withPreviews(turns: Turn[], displayInput: Json | undefined, host: string): Turn[] {
  const shown = isObject(displayInput) ? readAs(WIRES, displayInput) : undefined;
  return turns.map((turn, n) => {
    const other = shown?.turns[n];
    if (turn.role !== "user" || other?.role !== "user") return turn;
    const pictures = turn.pictures.map((picture, at) => {
      const output = outputOf(other.pictures[at]?.url ?? "", host);
      return output.kind === "image" ? { ...picture, preview: output.address } : picture;
    });
    return { ...turn, pictures };
  });
}
