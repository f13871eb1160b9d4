/** Responses over a WebSocket, in the vendora convention. */
import { z } from "zod";
import type { VendoraError } from "./error.ts";

/** What a client sends. All other fields are those of POST /vendora/responses, which checks them. */
export const responseCreate = z.looseObject({
  type: z.literal("response.create"),
  background: z.literal(false).nullish(),
  /** Comes back with each event. */
  stream_id: z
    .string()
    .regex(/^[\w.-]{1,256}$/)
    .optional(),
});
export type ResponseCreate = z.infer<typeof responseCreate>;

/** Of any message, also of one that is no call. */
export const responseLane = responseCreate.pick({ stream_id: true });

/** What answers a message that no response comes of. */
export interface SocketError {
  type: "error";
  status: number;
  error: VendoraError;
  stream_id?: string;
}
