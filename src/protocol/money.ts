/**
 * Amounts of money, in the deployment's currency: decimal text outside, safe integers of billionths of the
 * unit inside.
 */
import { z } from "zod";

/** Amounts are in billionths of the currency unit. */
export const UNIT = 1_000_000_000;
const DIGITS = 9;
/** The largest amount, in units: more billionths would not be a safe integer. */
const MAX_UNITS = 9_000_000;
export const MAX_AMOUNT = MAX_UNITS * UNIT;

const AMOUNT = /^(\d{1,7})(?:\.(\d{1,9}))?$/;

/** @param text such as `0.0016`. @returns undefined if it is no amount, or too large or too exact for one */
export function amountOf(text: string): number | undefined {
  const [, units = "", fraction = ""] = AMOUNT.exec(text) ?? [];
  if (units === "") return undefined;
  const amount = Number(units) * UNIT + Number(fraction.padEnd(DIGITS, "0"));
  return amount <= MAX_AMOUNT ? amount : undefined;
}

/** Returns an amount as decimal text without needless zeros: `0.0016`. */
export function amountText(amount: number): string {
  const digits = String(Math.abs(amount)).padStart(DIGITS + 1, "0");
  const fraction = digits.slice(-DIGITS).replace(/0+$/, "");
  const text = digits.slice(0, -DIGITS) + (fraction && `.${fraction}`);
  return amount < 0 ? `-${text}` : text;
}

/** The amount of a response. */
export const decimalAmount = z
  .string()
  .meta({ description: "Decimal text, in the deployment's currency", example: "0.0016" });

/** Clients must expect further types of parts. */
const costPart = z.object({
  type: z.string().meta({
    description:
      "`time`: time in the container, divided by the runs that shared it. `setup`: time that the container took to start, for the run that caused it. By the prices of a version: `run`, `input_tokens`, `cached_tokens`, `output_tokens`, `images`, `audio`. Others may follow",
    example: "time",
  }),
  quantity: z.number().meta({ description: "Number of units", example: 7.2 }),
  unit: z.string().meta({ example: "second" }),
  price: decimalAmount.meta({
    description: "Price of `per` units, as decimal text",
    example: "0.8",
  }),
  per: z.int().meta({ example: 3_600 }),
  amount: decimalAmount,
});

export const cost = z
  .object({
    amount: decimalAmount.meta({ description: "The sum of the parts, as decimal text" }),
    currency: z.string().meta({ description: "ISO 4217 code", example: "USD" }),
    parts: z.array(costPart),
  })
  .meta({ id: "Cost", description: "What a run costs its account" });
export type Cost = z.infer<typeof cost>;

/** More than the longest amount has. */
const MAX_CHARS = 40;

/** Only the document has the pattern: the error of an amount says more than that of a pattern would. */
const amountInText = z
  .string()
  .max(MAX_CHARS)
  .meta({ pattern: "^\\s*\\d{1,7}(\\.\\d{1,9})?\\s*$" });

/** The amount of a request: decimal text or a number, which becomes an integer of billionths. */
export const amount = z
  .union([amountInText, z.number().min(0).max(MAX_UNITS)])
  .transform((value, context) => {
    const text = typeof value === "number" ? value.toFixed(DIGITS) : value.trim();
    const amount = amountOf(text);
    if (amount !== undefined) return amount;
    const expected = `An amount has at most ${DIGITS} decimal places and is from 0 to ${MAX_UNITS.toLocaleString("en")}, such as "12.50"`;
    context.addIssue({ code: "custom", message: expected, input: value });
    return z.NEVER;
  })
  .meta({ description: "Decimal text or a number, in the deployment's currency, up to 9,000,000" });
