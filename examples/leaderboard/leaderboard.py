"""Two leaderboards of a game: points add up, and of the best rounds the highest counts.

    leaderboard.py HOST PORT add PLAYER POINTS      points for a player
    leaderboard.py HOST PORT round PLAYER POINTS    a round of a player
    leaderboard.py HOST PORT remove PLAYER          takes a player off both
    leaderboard.py HOST PORT points|best            the first ten, as `player points`
"""

import sys

import redis


def main(host, port, verb, *rest):
    client = redis.Redis(host, int(port), decode_responses=True)
    match verb, rest:
        case "add", (player, points):
            client.zincrby("points", float(points), player)
        case "round", (player, points):
            client.zadd("best", {player: float(points)}, gt=True)
        case "remove", (player,):
            client.zrem("points", player)
            client.zrem("best", player)
        case ("points" | "best"), ():
            for player, points in client.zrevrange(verb, 0, 9, withscores=True):
                print(player, f"{points:g}")
        case _:
            sys.exit(__doc__)


main(*sys.argv[1:])
