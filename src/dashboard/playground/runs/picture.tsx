/** A small picture that a run has made. */
export const Picture = ({ address }: { address: string | undefined }) =>
  address === undefined ? null : <img src={address} alt="" width="40" height="40" loading="lazy" />;
