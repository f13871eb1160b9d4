/** The APIs of other vendors that a version may be compatible with. */
import type { Compatibilities } from "../../protocol/model.ts";

export const COMPATIBILITIES: { flag: keyof Compatibilities; name: string }[] = [
  { flag: "vendora_chat_completions", name: "OpenAI chat completions" },
  { flag: "vendora_responses", name: "OpenAI responses" },
  { flag: "vendora_embeddings", name: "OpenAI embeddings" },
  { flag: "vendora_images_generations", name: "OpenAI image generations" },
  { flag: "vendorb_messages", name: "Anthropic messages" },
];
