/** The client's scripts import this file: it may import no schema, which would bring zod with it. */
import type { TaskStatus } from "../../protocol/prediction.ts";

const TERMINAL: readonly TaskStatus[] = ["succeeded", "failed", "canceled"];

export const isTerminal = (status: TaskStatus) => TERMINAL.includes(status);
