/** Paths of the calls in code samples. */
import type { ApiId } from "./bodies.ts";

export const PATHS: Record<ApiId, string> = {
  predictions: "/v1/predictions",
  chat: "/v1/vendora/chat/completions",
  responses: "/v1/vendora/responses",
  messages: "/v1/vendorb/messages",
  embeddings: "/v1/vendora/embeddings",
  images: "/v1/vendora/images/generations",
  edits: "/v1/vendora/images/edits",
  speech: "/v1/vendora/audio/speech",
  transcriptions: "/v1/vendora/audio/transcriptions",
};
