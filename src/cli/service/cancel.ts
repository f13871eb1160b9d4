/** Cancels a prediction, also while the command itself is being stopped. */
import { z } from "zod";
import { statusOf } from "../../../runner/src/control-plane/error.ts";
import type { Access } from "../access/access.ts";
import { Service } from "./service.ts";

/** Whoever pressed Ctrl+C does not wait longer. */
const PATIENCE_MS = 5_000;

export async function cancelSoon(access: Access, id: string): Promise<void> {
  const signal = AbortSignal.timeout(PATIENCE_MS);
  const service = new Service(access, { signal, onRetry: () => {} });
  await service.post(`/predictions/${id}/cancel`, z.unknown()).catch((error: unknown) => {
    // It has ended.
    if (statusOf(error) !== 409) throw error;
  });
}
