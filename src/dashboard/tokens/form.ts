/** The choices of the token form, and its values as an API request. */
import { invalid } from "../../domain/schemas/validation.ts";
import type { Scope } from "../../protocol/operator.ts";
import { fieldText, fieldTexts } from "../form.ts";

const DAY_MS = 86_400_000;

export const SCOPES: { value: Scope; label: string; hint: string }[] = [
  {
    value: "predict",
    label: "predict",
    hint: "Run models, cancel predictions, upload input files.",
  },
  {
    value: "read",
    label: "read",
    hint: "Read your predictions, private models and profile.",
  },
  { value: "write", label: "write", hint: "Change your models, versions and profile." },
];

/** Enough for most programs. */
export const DEFAULT_SCOPES: Scope[] = ["predict", "read"];

export const EXPIRIES = [
  { value: "7", label: "In 7 days" },
  { value: "30", label: "In 30 days" },
  { value: "90", label: "In 90 days" },
  { value: "365", label: "In a year" },
  { value: "date", label: "On a date" },
  { value: "never", label: "Never" },
];

export const DEFAULT_EXPIRY = "90";

export const PRIORITY_CHOICES = [
  { value: "", label: "Any" },
  { value: "high", label: "High" },
  { value: "normal", label: "Normal" },
  { value: "low", label: "Low" },
];

/** Returns the request, to be validated with the API's schema. @throws ValidationFailure */
export const readTokenForm = (form: FormData, now: number) => ({
  name: fieldText(form, "name").trim(),
  scopes: fieldTexts(form, "scopes"),
  models: readModels(form),
  priority: fieldText(form, "priority") || null,
  expires_at: readExpiry(form, now),
});

export const MODEL_CHOICES = [
  { value: "all", label: "All models", hint: "Yours and others', including future ones." },
  { value: "some", label: "Only specific models" },
];

/** Selected and typed models; null for all, which must be chosen explicitly. */
function readModels(form: FormData): string[] | null {
  const chosen = fieldText(form, "models_for");
  if (chosen === "all") return null;
  if (chosen !== "some")
    throw invalid(["body", "models_for"], "Choose which models the token can use.");
  const names = fieldTexts(form, "models").flatMap((text) => text.split(/[\s,]+/).filter(Boolean));
  if (names.length === 0)
    throw invalid(["body", "models"], "Enter a model, or select one of yours.");
  return [...new Set(names)];
}

/** The token is valid until the end of the chosen day. */
function readExpiry(form: FormData, now: number): string | null {
  const chosen = fieldText(form, "expires");
  if (chosen === "never") return null;
  if (chosen !== "date") return new Date(now + readDays(chosen) * DAY_MS).toISOString();
  const day = fieldText(form, "expires_at");
  if (day === "") throw invalid(["body", "expires_at"], "Choose a date.");
  return `${day}T23:59:59Z`;
}

function readDays(chosen: string): number {
  const days = EXPIRIES.some(({ value }) => value === chosen) ? Number(chosen) : Number.NaN;
  if (Number.isNaN(days)) throw invalid(["body", "expires"], "Choose when the token expires.");
  return days;
}
