/** Facts about JSON values that keywords of JSON Schema ask for. */
import type { Json } from "../../protocol/common.ts";

export function hasType(value: Json, type: string): boolean {
  switch (type) {
    case "array":
      return Array.isArray(value);
    case "integer":
      return Number.isInteger(value);
    case "null":
      return value === null;
    case "object":
      return typeof value === "object" && value !== null && !Array.isArray(value);
    default:
      return typeof value === type;
  }
}

/** Returns the number of characters, in which one beyond U+FFFF counts once. */
export function charactersIn(text: string): number {
  let count = 0;
  for (let at = 0; at < text.length; count += 1) at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
  return count;
}

/** Compares the decimal numbers as they are written: 0.3 is a multiple of 0.1. */
export function isMultipleOf(value: number, divisor: number): boolean {
  if (!Number.isFinite(value)) return false;
  const [dividend, power] = decimal(value);
  const [other, otherPower] = decimal(divisor);
  const least = Math.min(power, otherPower);
  const scaled = (digits: bigint, exponent: number) => digits * 10n ** BigInt(exponent - least);
  return scaled(dividend, power) % scaled(other, otherPower) === 0n;
}

/** Returns a finite number as an integer and a power of ten. */
function decimal(value: number): [digits: bigint, power: number] {
  const [mantissa = "", exponent = "0"] = String(value).split("e");
  const [whole = "", fraction = ""] = mantissa.split(".");
  return [BigInt(whole + fraction), Number(exponent) - fraction.length];
}
