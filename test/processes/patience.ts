/**
 * Patience for real processes on a busy machine: vitest's default of one second is too short, and only a
 * condition that never holds must fail.
 */
import { vi } from "vitest";

const PATIENCE_MS = 60_000;

const { waitFor } = vi;

vi.waitFor = (callback, options = {}) =>
  waitFor(callback, typeof options === "number" ? options : { timeout: PATIENCE_MS, ...options });
