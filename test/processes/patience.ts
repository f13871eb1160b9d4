/**
 * Patience for real processes on a busy machine: vitest's default of one second is too short, and only a
 * condition that never holds must fail.
 */
import { vi } from "vitest";

const PATIENCE_MS = 30_000;

const { waitFor } = vi;

vi.waitFor = (callback, options = PATIENCE_MS) => waitFor(callback, options);
