/** The APIs of other vendors that a version may be compatible with. */
import type { Compatibilities } from "../../protocol/model.ts";

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
