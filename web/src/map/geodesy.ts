// Distances, directions and areas on the WGS 84 ellipsoid. On a sphere, lengths would be wrong by up to
// 0.5 %: half a meter in a hundred.

import type { Position } from "geojson";

const EQUATOR_RADIUS = 6_378_137;
const FLATTENING = 1 / 298.257223563;
const POLE_RADIUS = EQUATOR_RADIUS * (1 - FLATTENING);
const ECCENTRICITY = Math.sqrt(FLATTENING * (2 - FLATTENING));
const MEAN_RADIUS = 6_371_008.8;
const RADIANS = Math.PI / 180;

/** In meters, by Vincenty's inverse formula. */
export function distance([lon0 = 0, lat0 = 0]: Position, [lon1 = 0, lat1 = 0]: Position): number {
  const difference = (lon1 - lon0) * RADIANS;
  const [u0, u1] = [reducedLatitude(lat0), reducedLatitude(lat1)];
  const [sin0, cos0, sin1, cos1] = [Math.sin(u0), Math.cos(u0), Math.sin(u1), Math.cos(u1)];
  let lambda = difference;
  for (let round = 0; round < 50; round += 1) {
    const y = cos1 * Math.sin(lambda);
    const x = cos0 * sin1 - sin0 * cos1 * Math.cos(lambda);
    const sinSigma = Math.hypot(x, y);
    if (sinSigma === 0) return 0;
    const cosSigma = sin0 * sin1 + cos0 * cos1 * Math.cos(lambda);
    const sigma = Math.atan2(sinSigma, cosSigma);
    const sinAlpha = (cos0 * cos1 * Math.sin(lambda)) / sinSigma;
    const cosSquared = 1 - sinAlpha ** 2;
    const cosMiddle = cosSquared === 0 ? 0 : cosSigma - (2 * sin0 * sin1) / cosSquared;
    const next = difference + longitudeCorrection(cosSquared, sinAlpha, sigma, cosMiddle);
    const isExact = Math.abs(next - lambda) < 1e-12;
    lambda = next;
    if (!isExact) continue;
    const { a, b } = vincentyCoefficients(cosSquared);
    return POLE_RADIUS * a * (sigma - sigmaCorrection(b, sigma, cosMiddle));
  }
  // The formula does not converge for points on opposite sides of the Earth.
  return sphereDistance([lon0, lat0], [lon1, lat1]);
}

/** The point at a distance in meters and a bearing in degrees clockwise from north, by Vincenty's formula. */
export function destination([lon = 0, lat = 0]: Position, meters: number, bearing: number): Position {
  const alpha = bearing * RADIANS;
  const u = reducedLatitude(lat);
  const [sinU, cosU, sinBearing, cosBearing] = [Math.sin(u), Math.cos(u), Math.sin(alpha), Math.cos(alpha)];
  const start = Math.atan2(Math.tan(u), cosBearing);
  const sinAlpha = cosU * sinBearing;
  const cosSquared = 1 - sinAlpha ** 2;
  const { a, b } = vincentyCoefficients(cosSquared);
  let sigma = meters / (POLE_RADIUS * a);
  let cosMiddle = 0;
  for (let round = 0; round < 50; round += 1) {
    cosMiddle = Math.cos(2 * start + sigma);
    const next = meters / (POLE_RADIUS * a) + sigmaCorrection(b, sigma, cosMiddle);
    const isExact = Math.abs(next - sigma) < 1e-13;
    sigma = next;
    if (isExact) break;
  }
  cosMiddle = Math.cos(2 * start + sigma);
  const [sinSigma, cosSigma] = [Math.sin(sigma), Math.cos(sigma)];
  const across = sinU * sinSigma - cosU * cosSigma * cosBearing;
  const latitude = Math.atan2(
    sinU * cosSigma + cosU * sinSigma * cosBearing,
    (1 - FLATTENING) * Math.hypot(sinAlpha, across),
  );
  const lambda = Math.atan2(sinSigma * sinBearing, cosU * cosSigma - sinU * sinSigma * cosBearing);
  const difference = lambda - longitudeCorrection(cosSquared, sinAlpha, sigma, cosMiddle);
  return [lon + difference / RADIANS, latitude / RADIANS];
}

/**
 * The area of a ring in square meters. Its sign depends on the direction of the ring. The edges are
 * straight in a projection that keeps areas.
 */
export function ringArea(ring: Position[]): number {
  let sum = 0;
  for (let index = 0; index + 1 < ring.length; index += 1) {
    const [[lon0 = 0, lat0 = 0], [lon1 = 0, lat1 = 0]] = [ring[index] ?? [], ring[index + 1] ?? []];
    sum += ((lon1 - lon0) * RADIANS * (areaToEquator(lat0) + areaToEquator(lat1))) / 2;
  }
  return sum;
}

/** The area between the equator and a parallel, per radian of longitude. */
function areaToEquator(latitude: number): number {
  const sin = Math.sin(latitude * RADIANS);
  const e = ECCENTRICITY;
  return (POLE_RADIUS ** 2 / 2) * (sin / (1 - (e * sin) ** 2) + Math.atanh(e * sin) / e);
}

function reducedLatitude(latitude: number): number {
  return Math.atan((1 - FLATTENING) * Math.tan(latitude * RADIANS));
}

function vincentyCoefficients(cosSquared: number): { a: number; b: number } {
  const u = (cosSquared * (EQUATOR_RADIUS ** 2 - POLE_RADIUS ** 2)) / POLE_RADIUS ** 2;
  return {
    a: 1 + (u / 16384) * (4096 + u * (-768 + u * (320 - 175 * u))),
    b: (u / 1024) * (256 + u * (-128 + u * (74 - 47 * u))),
  };
}

function sigmaCorrection(b: number, sigma: number, cosMiddle: number): number {
  const sin = Math.sin(sigma);
  const inner = Math.cos(sigma) * (2 * cosMiddle ** 2 - 1);
  const outer = (b / 6) * cosMiddle * (4 * sin ** 2 - 3) * (4 * cosMiddle ** 2 - 3);
  return b * sin * (cosMiddle + (b / 4) * (inner - outer));
}

/** By how much the difference of longitudes on the auxiliary sphere exceeds the one on the ellipsoid. */
function longitudeCorrection(cosSquared: number, sinAlpha: number, sigma: number, cosMiddle: number): number {
  const c = (FLATTENING / 16) * cosSquared * (4 + FLATTENING * (4 - 3 * cosSquared));
  const inner = cosMiddle + c * Math.cos(sigma) * (2 * cosMiddle ** 2 - 1);
  return (1 - c) * FLATTENING * sinAlpha * (sigma + c * Math.sin(sigma) * inner);
}

function sphereDistance([lon0 = 0, lat0 = 0]: Position, [lon1 = 0, lat1 = 0]: Position): number {
  const [a, b] = [lat0 * RADIANS, lat1 * RADIANS];
  const half = Math.sin((b - a) / 2) ** 2;
  const across = Math.cos(a) * Math.cos(b) * Math.sin(((lon1 - lon0) * RADIANS) / 2) ** 2;
  return 2 * MEAN_RADIUS * Math.asin(Math.min(1, Math.sqrt(half + across)));
}
