/** Prices in the deployment's currency. */
import { useRequestContext } from "hono/jsx-renderer";
import { priceText } from "../../domain/predictions/price.ts";
import type { Dashboard } from "../context.ts";

export const useCurrency = (): string =>
  useRequestContext<Dashboard>().var.services.settings.currency;

export const Price = ({ value }: { value: number }) => <>{priceText(value, useCurrency())}</>;
