/** The APIs of other vendors that a version may be compatible with. */

import { DEFAULT_EGRESS } from "../../protocol/egress.ts";
import {
  type Compatibilities,
  type Configuration,
  DEFAULT_ISOLATION,
  type Isolation,
  type Visibility,
} from "../../protocol/model.ts";

export const COMPATIBILITIES: { flag: keyof Compatibilities; name: string }[] = [
  { flag: "vendora_chat_completions", name: "OpenAI chat completions" },
  { flag: "vendora_responses", name: "OpenAI responses" },
  { flag: "vendora_embeddings", name: "OpenAI embeddings" },
  { flag: "vendora_images_generations", name: "OpenAI image generations" },
  { flag: "vendora_images_edits", name: "OpenAI image edits" },
  { flag: "vendora_audio_transcriptions", name: "OpenAI transcriptions" },
  { flag: "vendora_audio_translations", name: "OpenAI translations" },
  { flag: "vendora_audio_speech", name: "OpenAI speech" },
  { flag: "vendora_completions", name: "OpenAI completions" },
  { flag: "vendora_moderations", name: "OpenAI moderations" },
  { flag: "vendora_rerank", name: "Rerank" },
  { flag: "vendorb_messages", name: "Anthropic messages" },
];

export const EGRESS_CHOICES = [
  { value: "public", label: "Public internet", hint: "Private networks are always blocked." },
  { value: "none", label: "No network", hint: "Data leaves the container only as output." },
  {
    value: "hosts",
    label: "Selected hosts only",
    hint: "HTTPS only, for programs that honor HTTPS_PROXY, as most Python libraries do.",
  },
] as const;

/** The choice and the hosts as form values. */
export function egressOf({ egress = DEFAULT_EGRESS }: Configuration) {
  return typeof egress === "string"
    ? { choice: egress, hosts: "" }
    : { choice: "hosts", hosts: egress.join("\n") };
}

export const egressText = ({ egress = DEFAULT_EGRESS }: Configuration): string =>
  typeof egress === "string" ? labelOf(egress) : egress.join(", ");

const labelOf = (choice: string): string =>
  EGRESS_CHOICES.find(({ value }) => value === choice)?.label ?? "";

interface Choice {
  value: Isolation;
  label: string;
  hint: string;
}

export const ISOLATION_CHOICES: readonly Choice[] = [
  {
    value: "model",
    label: "Shared by all accounts",
    hint: "A running container serves every caller.",
  },
  {
    value: "account",
    label: "Separate for each account",
    hint: "The first prediction of each account waits for a new container.",
  },
  {
    value: "prediction",
    label: "Separate for each prediction",
    hint: "Each prediction waits for a new container, which is removed afterwards.",
  },
];

export const isolationOf = ({ isolation = DEFAULT_ISOLATION }: Configuration): Isolation =>
  isolation;

/** A private model has one caller: its owner. */
export function isolationText(configuration: Configuration, visibility: Visibility): string {
  const isolation = isolationOf(configuration);
  if (visibility === "private" && isolation !== "prediction")
    return "Shared by the owner’s predictions";
  return ISOLATION_CHOICES.find(({ value }) => value === isolation)?.label ?? "";
}
