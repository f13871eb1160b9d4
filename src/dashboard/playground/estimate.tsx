/** The estimate of a run, beside its button. */
import type { Figures, Range } from "../../domain/predictions/estimate.ts";
import { duration } from "../ui/duration.ts";
import { Price } from "../ui/parts.tsx";

interface EstimateProps {
  /** Undefined: the account did not answer. */
  figures: Figures | undefined;
  /** Why a budget would refuse the run now. */
  refusal: string | undefined;
}

export const EstimateLine = ({ figures, refusal }: EstimateProps) => (
  <>
    <FiguresLine figures={figures} />
    {refusal !== undefined && (
      <p class="hint" data-refusal>
        {refusal}
      </p>
    )}
  </>
);

function FiguresLine({ figures }: Pick<EstimateProps, "figures">) {
  const { basis = "none", time, cost } = figures ?? {};
  if (basis === "none" || !time) return null;
  return (
    <p class="hint" data-estimate title={BASES[basis]}>
      {cost && (
        <>
          ~<Price value={cost.expected} />,{" "}
        </>
      )}
      ~{duration(time.expected)}
      {time.low !== null && (
        <>
          {" (8 of 10 runs: "}
          {cost && (
            <>
              <PriceRange range={cost} />,{" "}
            </>
          )}
          {rangeText(time)})
        </>
      )}
    </p>
  );
}

const BASES = {
  own_runs: "The median of your last runs of this version",
  all_runs: "The average of about the last 50 runs of this version, from all accounts",
};

const PriceRange = ({ range: { expected, low, high } }: { range: Range }) => (
  <>
    <Price value={low ?? expected} />–<Price value={high ?? expected} />
  </>
);

const rangeText = ({ expected, low, high }: Range) =>
  `${duration(low ?? expected)}–${duration(high ?? expected)}`;
