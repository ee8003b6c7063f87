#include "protocol/rank_sets.h"

static struct round_check check_pair(int64_t source, int64_t target, int ranks, const struct role *roles)
{
    const int64_t both[2] = {source, target};
    for (int i = 0; i < 2; i++) {
        if (both[i] < 0 || both[i] >= ranks)
            return (struct round_check){ROUND_OUT_OF_RANGE, both[i]};
        if (roles[both[i]].kind != ROLE_IDLE)
            return (struct round_check){ROUND_TWICE, both[i]};
    }
    if (source == target)
        return (struct round_check){ROUND_SELF, source};
    return (struct round_check){ROUND_GOOD, 0};
}

struct round_check round_assign(const int64_t *pairs, size_t count, int ranks, struct role *roles)
{
    if (count == 0)
        return (struct round_check){ROUND_EMPTY, 0};
    if (count % 2 != 0)
        return (struct round_check){ROUND_ODD, (int64_t)count};
    for (int rank = 0; rank < ranks; rank++)
        roles[rank] = (struct role){ROLE_IDLE, -1};
    for (size_t i = 0; i < count; i += 2) {
        const struct round_check check = check_pair(pairs[i], pairs[i + 1], ranks, roles);
        if (check.fault != ROUND_GOOD)
            return check;
        roles[pairs[i]] = (struct role){ROLE_SOURCE, (int)pairs[i + 1]};
        roles[pairs[i + 1]] = (struct role){ROLE_TARGET, (int)pairs[i]};
    }
    return (struct round_check){ROUND_GOOD, 0};
}
